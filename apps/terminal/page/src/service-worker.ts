/**
 * Caches the page's shell (HTML, script, style, icons), so that it opens while the server is unreachable. API answers
 * are never cached: an old list would look current.
 */
declare const self: ServiceWorkerGlobalScope;
declare const __SHELL__: string[];
declare const __VERSION__: string;

const CACHE = `shell-${__VERSION__}`;

self.addEventListener('install', (event) => {
  event.waitUntil(keepShell().then(() => self.skipWaiting()));
});

/**
 * Caches nothing unless all files are of this version: a proxy may pass the files but answer `/` with its sign-in, or
 * route to a server of another version, and the cache would keep that answer.
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
      // as when a power cut has damaged the cache
      .catch(() => undefined)
      .then((kept) => kept ?? fetch(event.request)),
  );
});

export {};
