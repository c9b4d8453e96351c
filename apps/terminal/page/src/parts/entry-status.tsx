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

/** How far an entry of this page has come: a symbol, words, and what to do where it was refused. */
export function OutgoingStatus({ entry }: { entry: Outgoing }): JSX.Element {
  const status = statusOf(entry);
  const seconds = Math.min(
    UNDO_MS / 1000,
    Math.max(0, Math.ceil((entry.sendAfterMs - tick.value) / 1000)),
  );
  return (
    <StatusText
      status={status}
      text={entry.kind === 'note' && status === 'applied' ? strings.value.saved : undefined}
      code={entry.code}
      detail={entry.detail}
      seconds={seconds}
    />
  );
}

/** How far an entry known by the server has come. */
export function AnswerStatus({ entry }: { entry: Entry }): JSX.Element {
  return <StatusText status={entry.status} code={entry.code} detail={entry.detail} seconds={0} />;
}

function StatusText(props: {
  status: RowStatus;
  /** Instead of the status' own words: a note is applied nowhere. */
  text?: string | undefined;
  code: string | null;
  detail: string | null;
  seconds: number;
}): JSX.Element {
  const { status, code, detail, seconds } = props;
  const words = strings.value.status;
  const isRefusal = status === 'rejected' || status === 'refused';
  const text = props.text ?? (status === 'undo' ? words.undo(seconds) : words[status]);
  return (
    <span class={`status status-${status}`} data-status={status}>
      <Icon name={ICONS[status]} />
      <span>
        <b>{text}</b>
        {isRefusal && (
          <span class="what-to-do" title={detail ?? undefined}>
            {' '}
            {refusalText(strings.value, code)}
          </span>
        )}
      </span>
    </span>
  );
}
