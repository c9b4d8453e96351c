import { closeSheetOf, registerOperator } from './actions.js';
import { BadgeReader, MAX_GAP_MS } from '../model/badge-reader.js';
import { signInNeeded } from './store.js';

/** Elements that the space bar presses. */
const PRESSED_BY_SPACE = 'button, summary, [role=button]';
/** Elements in which typed characters choose an option. */
const CHOSEN_BY_LETTERS = 'select';

/** Registers operators by scanned badges, wherever the focus is; the keys press nothing and leave no text. */
export function listenForBadges(): void {
  const reader = new BadgeReader();
  let partOfBurst = false;
  let heldSpace = 0;
  window.addEventListener(
    'keydown',
    (event) => {
      // a token may be scanned, too, into its own field
      if (event.ctrlKey || event.altKey || event.metaKey || signInNeeded.peek()) return;
      const isOnControl = isOn(event, PRESSED_BY_SPACE);
      if (event.repeat) {
        // only a person holds a key down; it presses once
        if (isOnControl && [' ', 'Enter'].includes(event.key)) swallow(event);
        return;
      }
      const isSpaceOnControl = isOnControl && event.key === ' ';
      const outcome = reader.readKey(event.key, event.timeStamp);
      partOfBurst = outcome.partOfBurst;
      clearTimeout(heldSpace);
      // it may be the first character of a badge: it presses only if no key follows it
      if (isSpaceOnControl && !outcome.isQuick)
        heldSpace = setTimeout(() => press(event.target), 2 * MAX_GAP_MS);
      const isTyped = event.key.length === 1 && isOn(event, CHOSEN_BY_LETTERS);
      if (partOfBurst || isSpaceOnControl || isTyped) swallow(event);
      if (outcome.badge === null) return;
      removeTyped(document.activeElement, outcome.badge);
      void registerOperator(outcome.badge).then((done) => {
        if (done) closeSheetOf('operator');
      });
    },
    { capture: true },
  );
  // buttons are pressed on keyup of the space bar
  window.addEventListener(
    'keyup',
    (event) => {
      if (partOfBurst || (event.key === ' ' && isOn(event, PRESSED_BY_SPACE))) swallow(event);
    },
    { capture: true },
  );
}

function press(target: EventTarget | null): void {
  if (target === document.activeElement)
    target?.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true }));
}

function isOn({ target }: KeyboardEvent, selector: string): boolean {
  return target instanceof Element && target.matches(selector);
}

function swallow(event: KeyboardEvent): void {
  event.preventDefault();
  event.stopPropagation();
}

/** Removes the characters that were typed before they were recognised as a badge. */
function removeTyped(field: Element | null, badge: string): void {
  if (!(field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement)) return;
  // a slider's value is its position
  if (field.type === 'range') return;
  for (let length = badge.length; length > 0; length--) {
    if (!field.value.endsWith(badge.slice(0, length))) continue;
    field.value = field.value.slice(0, -length);
    field.dispatchEvent(new Event('input', { bubbles: true }));
    return;
  }
}
