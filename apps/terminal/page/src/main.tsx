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

/** Keeps the shell for when the server is away, and takes over a new one while nobody is in the middle of something. */
async function installShell(): Promise<void> {
  let isControlled = navigator.serviceWorker.controller !== null;
  navigator.serviceWorker.addEventListener('controllerchange', () => {
    // the first shell is that of the page itself
    if (isControlled) void reloadWhenIdle();
    isControlled = true;
  });
  const register = (): Promise<ServiceWorkerRegistration> =>
    navigator.serviceWorker.register('/sw.js');
  try {
    await register();
  } catch {
    // the shell that is kept only later may be of another page
    isControlled = true;
  }
  const update = (): Promise<unknown> => register().then((shell) => shell.update());
  // where no shell is allowed, or none could be read
  setInterval(() => void update().catch(askForNewPage), UPDATE_EVERY_MS);
}

/** Over plain http no service worker finds a new page: a wall screen would keep the old one for months. */
async function askForNewPage(): Promise<void> {
  const html = (await (await fetchPage())?.text().catch(() => '')) ?? '';
  const { pathname } = new URL(import.meta.url);
  // what a proxy answers in its place names no script of a page
  if (html.includes('/assets/index-') && !html.includes(pathname)) void reloadWhenIdle();
}

async function reloadWhenIdle(): Promise<void> {
  const isIdle =
    sheet.peek() === null &&
    selection.peek() === null &&
    outgoing.peek().every(({ status }) => status !== 'waiting');
  // over plain http there is no other page than the server's
  const isThere = isIdle && (isSecureContext || (await fetchPage())?.ok === true);
  if (isThere) location.reload();
  else setTimeout(() => void reloadWhenIdle(), 5_000);
}

function fetchPage(): Promise<Response | null> {
  return fetch('/', { cache: 'no-store' }).catch(() => null);
}
