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
  const spaceBar = new HeldSpaceBar();
  let partOfBurst = false;
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
      if (outcome.isQuick) spaceBar.release();
      else if (isSpaceOnControl) spaceBar.hold(event.target);
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

/** A space may be the first character of a badge: it presses the focused element only if no key follows it. */
class HeldSpaceBar {
  private timer = 0;

  hold(target: EventTarget | null): void {
    this.release();
    this.timer = setTimeout(() => {
      if (target === document.activeElement) {
        target?.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true }));
      }
    }, 2 * MAX_GAP_MS);
  }

  release(): void {
    clearTimeout(this.timer);
  }
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
