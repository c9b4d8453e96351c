import type { JSX } from 'preact';
import type { Entry } from '../../../src/api/index.js';
import { type Outgoing, rowStatus, type RowStatus, UNDO_MS } from '../model/outgoing.js';
import { refusalText } from '../model/strings.js';
import { sending } from '../state/outbox.js';
import { tick } from '../state/clock.js';
import { strings } from '../state/store.js';
import { Icon, type IconName } from './icons.js';

const ICONS: Record<RowStatus, IconName> = {
  undo: 'waiting',
  queued: 'waiting',
  sending: 'send',
  sent: 'send',
  deferred: 'waiting',
  applied: 'check',
  rejected: 'attention',
  refused: 'attention',
  unconfirmed: 'attention',
  unanswered: 'attention',
};

export function statusOf(entry: Outgoing): RowStatus {
  return rowStatus(entry, tick.value, sending.value);
}

/** The status of an entry, of this page or the server: an icon, its name, and for a refusal what to do. */
export function EntryStatus({ entry }: { entry: Outgoing | Entry }): JSX.Element {
  const isOwn = 'kind' in entry;
  const status = isOwn ? statusOf(entry) : entry.status;
  const isRefusal = status === 'rejected' || status === 'refused';
  const words = strings.value;
  // a note is stored, not applied
  const isSaved = isOwn && entry.kind === 'note' && status === 'applied';
  const text = isSaved ? words.saved : words.status[status];
  const secondsLeft = isOwn ? Math.ceil((entry.sendAfterMs - tick.value) / 1000) : 0;
  return (
    <span class={`status pale status-${status}`} data-status={status}>
      <Icon name={ICONS[status]} />
      <span>
        <b>
          {typeof text === 'string'
            ? text
            : text(Math.min(UNDO_MS / 1000, Math.max(0, secondsLeft)))}
        </b>
        {isRefusal && (
          <span class="what-to-do" title={entry.detail ?? undefined}>
            {' '}
            {refusalText(words, entry.code)}
          </span>
        )}
      </span>
    </span>
  );
}
