/**
 * Keeps the page's shell (HTML, script, style, icons), so that it opens while the server is away. Answers of the
 * API are never kept: an old list would look like a new one.
 */
declare const self: ServiceWorkerGlobalScope;
declare const __SHELL__: string[];
declare const __VERSION__: string;

const CACHE = `shell-${__VERSION__}`;

self.addEventListener('install', (event) => {
  event.waitUntil(keepShell().then(() => self.skipWaiting()));
});

/**
 * A proxy may let the files through, and ask for a sign-in in place of the page, or lead to a server of another
 * version: what it answers would stay for good.
 */
async function keepShell(): Promise<void> {
  const fresh: RequestInit = { cache: 'reload', redirect: 'error' };
  const page = await fetch('/', fresh);
  const html = await page.clone().text();
  const assets = __SHELL__.filter((url) => url.startsWith('/assets/'));
  if (!assets.every((url) => html.includes(url))) {
    throw new Error("the page is not this version's");
  }
  const cache = await caches.open(CACHE);
  const files = __SHELL__.filter((url) => url !== '/');
  await cache.addAll(files.map((url) => new Request(url, fresh)));
  await cache.put('/', page);
}

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
