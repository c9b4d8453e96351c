import { registerOperator } from './actions.js';
import { BadgeReader } from './model/badge-reader.js';
import { signInNeeded } from './store.js';

/** Registers whoever scans a badge, wherever the focus is; what the scanner typed neither presses nor stays. */
export function listenForBadges(): void {
  const reader = new BadgeReader();
  let partOfBurst = false;
  window.addEventListener(
    'keydown',
    (event) => {
      // a token may be scanned too, into its own field
      if (event.ctrlKey || event.altKey || event.metaKey || signInNeeded.peek()) return;
      const outcome = reader.take(event.key, event.timeStamp);
      partOfBurst = outcome.partOfBurst;
      if (partOfBurst) swallow(event);
      if (outcome.badge === null) return;
      removeTyped(document.activeElement, outcome.badge);
      void registerOperator(outcome.badge).then((done) => {
        if (done)
          document.querySelector<HTMLDialogElement>('dialog[data-sheet="operator"]')?.close();
      });
    },
    { capture: true },
  );
  // a button is pressed when the space bar comes up
  window.addEventListener(
    'keyup',
    (event) => {
      if (partOfBurst) swallow(event);
    },
    { capture: true },
  );
}

function swallow(event: KeyboardEvent): void {
  event.preventDefault();
  event.stopPropagation();
}

/** The first characters were typed before it was clear that they are a badge. */
function removeTyped(field: Element | null, badge: string): void {
  if (!(field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement)) return;
  for (let length = badge.length; length > 0; length--) {
    if (!field.value.endsWith(badge.slice(0, length))) continue;
    field.value = field.value.slice(0, -length);
    field.dispatchEvent(new Event('input', { bubbles: true }));
    return;
  }
}
