import { render } from 'preact';
import { selection, sheet } from './state/actions.js';
import { App } from './app.js';
import { listenForBadges } from './state/badge-scanner.js';
import { startLiveUpdates } from './state/live-updates.js';
import { openOutbox, outgoing } from './state/outbox.js';
import './styles.css';

const UPDATE_EVERY_MS = 3600_000;

const root = document.getElementById('app');
if (root) render(<App />, root);
listenForBadges();
void openOutbox().then(startLiveUpdates);
if ('serviceWorker' in navigator) void installShell();
else setInterval(() => void askForNewPage(), UPDATE_EVERY_MS);

/** Installs the service worker, and loads a new version of the page while nobody is giving a reason. */
async function installShell(): Promise<void> {
  let isControlled = navigator.serviceWorker.controller !== null;
  navigator.serviceWorker.addEventListener('controllerchange', () => {
    // the first service worker caches the version of the open page
    if (isControlled) void reloadWhenIdle();
    isControlled = true;
  });
  const register = (): Promise<ServiceWorkerRegistration> =>
    navigator.serviceWorker.register('/sw.js');
  try {
    await register();
  } catch {
    // one that is installed later may cache another version
    isControlled = true;
  }
  const update = (): Promise<unknown> => register().then((shell) => shell.update());
  // without a service worker, or where the browser cannot fetch it
  setInterval(() => void update().catch(askForNewPage), UPDATE_EVERY_MS);
}

/** Looks for a new version without a service worker, as over plain http: a wall screen is never reloaded by hand. */
async function askForNewPage(): Promise<void> {
  const html = (await (await fetchPage())?.text().catch(() => '')) ?? '';
  const { pathname } = new URL(import.meta.url);
  // a proxy's answer names no script of the page
  if (html.includes('/assets/index-') && !html.includes(pathname)) void reloadWhenIdle();
}

async function reloadWhenIdle(): Promise<void> {
  const isIdle =
    sheet.peek() === null &&
    selection.peek() === null &&
    outgoing.peek().every(({ status }) => status !== 'waiting');
  // over plain http the page can only be loaded while the server answers
  const isThere = isIdle && (isSecureContext || (await fetchPage())?.ok === true);
  if (isThere) location.reload();
  else setTimeout(() => void reloadWhenIdle(), 5_000);
}

function fetchPage(): Promise<Response | null> {
  return fetch('/', { cache: 'no-store' }).catch(() => null);
}
