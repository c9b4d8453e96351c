import type { JSX } from 'preact';
import { openSheet, selection, sheet } from './state/actions.js';
import { undoableBatch } from './model/outgoing.js';
import { areEntriesStored, outgoing, takeBack, unsentEntries } from './state/outbox.js';
import { EntryStatus } from './parts/entry-status.js';
import { Icon, type IconName } from './parts/icons.js';
import { hrefOf, route } from './state/router.js';
import { plantMinute, plantNow, tick } from './state/clock.js';
import {
  connection,
  formats,
  heardUntil,
  isOld,
  link,
  operator,
  session,
  signInNeeded,
  strings,
} from './state/store.js';
import { HandOver } from './views/hand-over.js';
import { Machine } from './views/machine.js';
import { ReasonSheet } from './views/reason-sheet.js';
import { NoteSheet, OperatorSheet, SettingsSheet, SignIn } from './views/small-sheets.js';
import { openCount, Stops } from './views/stops.js';
import { Wall } from './views/wall.js';
import { Button } from './parts/controls.js';
import { Toast } from './parts/sheet.js';

export function App(): JSX.Element {
  return (
    <>
      <TopBar />
      <main id="content" tabIndex={-1}>
        {!signInNeeded.value && <Unreachable />}
        {signInNeeded.value ? <SignIn /> : <View />}
      </main>
      <UndoBar />
      <OpenSheet />
    </>
  );
}

/** Takes back all reasons that were given together; a row takes back its own. */
function UndoBar(): JSX.Element | null {
  const batch = undoableBatch(outgoing.value, tick.value);
  const [first] = batch;
  if (!first || selection.value) return null;
  return (
    <div class="bottom-bar undo-bar row no-print">
      <Button icon="undo" onClick={() => void takeBack(batch.map(({ id }) => id))}>
        {strings.value.undoAll(batch.length)}
      </Button>
      <EntryStatus entry={first} />
    </div>
  );
}

/** A page that was loaded without its server has only its own entries to show. */
function Unreachable(): JSX.Element | null {
  if (connection.value.state !== 'offline' || link.value !== null) return null;
  const heard = heardUntil();
  const time = heard === null ? null : formats.value.timeOn(heard, plantMinute.value);
  return (
    <p class="warning row">
      <Icon name="offline" />
      {strings.value.unreachable(time)}
    </p>
  );
}

function View(): JSX.Element {
  const current = route.value;
  // a view's layout depends on the session: drawn earlier, it would jump
  if (!session.value) return <p class="empty">{strings.value.loading}</p>;
  switch (current.view) {
    case 'wall':
      return <Wall />;
    case 'stops':
      return <Stops />;
    case 'hand-over':
      return <HandOver />;
    case 'machine':
      return <Machine key={current.machineId} machineId={current.machineId} />;
    default:
      return current satisfies never;
  }
}

function OpenSheet(): JSX.Element | null {
  const open = sheet.value;
  switch (open?.kind) {
    case undefined:
      return <Toast />;
    case 'reason':
      return <ReasonSheet targets={open.targets} />;
    case 'operator':
      return <OperatorSheet />;
    case 'settings':
      return <SettingsSheet />;
    case 'note':
      return <NoteSheet machineId={open.machineId} machineName={open.machineName} />;
    default:
      return open satisfies never;
  }
}

function TopBar(): JSX.Element {
  const words = strings.value;
  return (
    <header class="top no-print">
      <a
        class="skip"
        href="#content"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById('content')?.focus();
        }}
      >
        {words.skipToContent}
      </a>
      <nav class="tabs" aria-label={words.views}>
        <Tab view="stops" label={words.needsReason} count={openCount.value} />
        <Tab view="wall" label={words.wall} />
        <Tab view="hand-over" label={words.handOver} />
      </nav>
      <Connection />
      <span class="clock">{formats.value.time(plantNow.value)}</span>
      <Button
        icon="person"
        aria-label={`${words.registerOperator} ${operator.value ?? words.nobody}`}
        onClick={() => openSheet({ kind: 'operator' })}
      >
        <span class="top-button-text">{operator.value ?? words.nobody}</span>
      </Button>
      <Button
        kind="square"
        icon="settings"
        aria-label={words.settings}
        title={words.settings}
        onClick={() => openSheet({ kind: 'settings' })}
      />
    </header>
  );
}

function Tab({
  view,
  label,
  count,
}: {
  view: 'wall' | 'stops' | 'hand-over';
  label: string;
  count?: number;
}): JSX.Element {
  const isCurrent = route.value.view === view;
  return (
    <a class="tab row" href={hrefOf({ view })} aria-current={isCurrent ? 'page' : undefined}>
      {label}
      {count !== undefined && <span class={`count ${count > 0 ? '' : 'none'}`}>{count}</span>}
    </a>
  );
}

/** Whether the page is current, and which of its entries are unsent; always in the same place. */
function Connection(): JSX.Element {
  const words = strings.value;
  const unsent = unsentEntries.value;
  const { icon, text, isBad, keepsEntries } = connectionText();
  const texts = [
    text,
    unsent
      ? words.notSent(unsent.count, formats.value.timeOn(unsent.since, plantMinute.value))
      : keepsEntries && words.entriesKept,
    !areEntriesStored.value && words.notKept,
  ];
  return (
    <div
      class={`connection row ${isBad ? 'bad' : ''}`}
      role="status"
      data-connection={isBad ? 'bad' : 'good'}
    >
      <Icon name={icon} />
      <span class="connection-text">{texts.filter(Boolean).join(' · ')}</span>
    </div>
  );
}

interface ConnectionText {
  icon: IconName;
  text: string;
  isBad: boolean;
  keepsEntries?: boolean;
}

function connectionText(): ConnectionText {
  const words = strings.value;
  const { timeOn } = formats.value;
  const { state, since } = connection.value;
  if (signInNeeded.value) return { icon: 'person', text: words.signIn, isBad: false };
  if (state === 'connecting') return { icon: 'waiting', text: words.connecting, isBad: false };
  const isAway = (text: string): ConnectionText => {
    return { icon: 'offline', text, isBad: true, keepsEntries: true };
  };
  if (state === 'offline') return isAway(words.offline(timeOn(since, plantMinute.value)));
  const kafka = link.value;
  if (!kafka) return { icon: 'check', text: words.live, isBad: false };
  switch (kafka.state) {
    case 'down':
      return isAway(words.kafkaDown(timeOn(kafka.since, plantMinute.value)));
    case 'restoring':
      return { icon: 'waiting', text: words.restoring, isBad: false };
    case 'up': {
      const { knownUntil } = kafka;
      if (knownUntil === null || !isOld(knownUntil)) {
        return { icon: 'check', text: words.live, isBad: false };
      }
      // the server answers, but the bridge publishes nothing
      const text = words.nothingNew(timeOn(knownUntil, plantMinute.value));
      return { icon: 'attention', text, isBad: true };
    }
    default:
      return kafka.state satisfies never;
  }
}
