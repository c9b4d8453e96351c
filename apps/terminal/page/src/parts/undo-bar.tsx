import type { JSX } from 'preact';
import { selection } from '../actions.js';
import { undoableBatch } from '../model/outgoing.js';
import { outgoing, takeBack } from '../outbox.js';
import { strings, tick } from '../store.js';
import { OutgoingStatus } from './entry-status.js';
import { Icon } from './icons.js';

/** One tap takes back all that was given together; their rows take back one each. */
export function UndoBar(): JSX.Element | null {
  const batch = undoableBatch(outgoing.value, tick.value);
  const [first] = batch;
  if (!first || selection.value) return null;
  return (
    <div class="bottom-bar undo-bar no-print">
      <button class="button" type="button" onClick={() => void takeBack(batch.map(({ id }) => id))}>
        <Icon name="undo" />
        {strings.value.undoAll(batch.length)}
      </button>
      <OutgoingStatus entry={first} />
    </div>
  );
}
