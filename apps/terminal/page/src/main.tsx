import { render } from 'preact';
import { sheet } from './state/actions.js';
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

/** Keeps the shell for when the server is away, and takes over a new one while nobody is in the middle of something. */
async function installShell(): Promise<void> {
  let isControlled = navigator.serviceWorker.controller !== null;
  navigator.serviceWorker.addEventListener('controllerchange', () => {
    // the first shell is that of the page itself
    if (isControlled) reloadWhenIdle();
    isControlled = true;
  });
  const registration = await navigator.serviceWorker.register('/sw.js').catch(() => null);
  setInterval(() => void registration?.update().catch(() => undefined), UPDATE_EVERY_MS);
}

function reloadWhenIdle(): void {
  const isBusy =
    sheet.peek() !== null || outgoing.peek().some(({ status }) => status === 'waiting');
  if (isBusy) setTimeout(reloadWhenIdle, 5_000);
  else location.reload();
}
