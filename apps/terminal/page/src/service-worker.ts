/**
 * Keeps the page's shell (HTML, script, style, icons), so that it opens while the server is away. Answers of the
 * API are never kept: an old list would look like a new one.
 */
declare const self: ServiceWorkerGlobalScope;
declare const __SHELL__: string[];
declare const __VERSION__: string;

const CACHE = `shell-${__VERSION__}`;

self.addEventListener('install', (event) => {
  event.waitUntil(
    caches
      .open(CACHE)
      .then((cache) => cache.addAll(__SHELL__.map((url) => new Request(url, { cache: 'reload' }))))
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener('activate', (event) => {
  event.waitUntil(
    caches
      .keys()
      .then((names) =>
        Promise.all(names.filter((name) => name !== CACHE).map((name) => caches.delete(name))),
      )
      .then(() => self.clients.claim()),
  );
});

self.addEventListener('fetch', (event) => {
  const { pathname, origin } = new URL(event.request.url);
  const isShell = origin === self.location.origin && __SHELL__.includes(pathname);
  if (event.request.method !== 'GET' || !isShell) return;
  event.respondWith(
    caches
      .match(pathname, { cacheName: CACHE })
      // a cache that a power cut has broken
      .catch(() => undefined)
      .then((kept) => kept ?? fetch(event.request)),
  );
});

export {};
