import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Entry, MachineView, Note, Tile } from '../../../src/api/index.js';
import { openSheet, type Target } from '../state/actions.js';
import { readMachine } from '../state/api-client.js';
import { changedMachines } from '../state/live-updates.js';
import {
  type Outgoing,
  type OutgoingNote,
  type OutgoingReason,
  unexplainedParts,
} from '../model/outgoing.js';
import { operatingSeconds, overlap, type Period } from '../model/periods.js';
import { reasonColour } from '../model/reason-choices.js';
import { stopRows } from '../model/stop-rows.js';
import { appliesIn, type Bar, barsOf, entriesIn, reasonBars, type Shift } from '../model/strip.js';
import { lookOf } from '../model/tiles.js';
import { outgoing } from '../state/outbox.js';
import { EntryStatus } from '../parts/entry-status.js';
import { Icon, StateBlock } from '../parts/icons.js';
import { ReasonLine, GivenReason, periodText, StopItem } from '../parts/stop-item.js';
import { moveView, Strip, zoomView } from '../parts/strip.js';
import { nowMs, plantMinute, tick } from '../state/clock.js';
import {
  connection,
  formats,
  link,
  nameOfReason,
  session,
  strings,
  tileOf,
} from '../state/store.js';
import { Button, KnownUntil, ShiftChoice } from '../parts/controls.js';

/** At most one request a second, however often the machine changes. */
const REFRESH_MS = 1000;
const ASK_AGAIN_MS = 10_000;

export function Machine({ machineId }: { machineId: string }): JSX.Element {
  const words = strings.value;
  const answer = useMachineView(machineId);
  const view = answer ?? null;
  const tile = tileOf(machineId)?.value ?? view?.tile;
  const [shiftIndex, setShiftIndex] = useState<0 | 1>(0);
  const shift = session.value?.shifts[shiftIndex];
  if (!tile || !shift) {
    return <p class="empty">{answer === null ? words.unknownMachine : words.loading}</p>;
  }
  const look = lookOf(tile);
  const mine = outgoing.value.filter((entry) => entry.machineId === machineId);
  const name = tile.displayName;
  // drawn before the answer and the stops, one card would push the others away; offline the known ones are drawn
  const isComing = (view === null || link.value === null) && connection.value.state !== 'offline';
  return (
    <section class="machine column" aria-label={name}>
      <header class="machine-head row">
        <StateBlock look={look} />
        <div class="machine-title">
          <h1>{name}</h1>
          <p>
            <b>{words.state[look]}</b>
            {look !== 'NO_DATA' && tile.startTime !== null && (
              <>
                {' '}
                {words.since(formats.value.timeOn(tile.startTime, plantMinute.value))} ·{' '}
                {formats.value.span(plantMinute.value - tile.startTime)}
              </>
            )}
            {tile.observation !== 'ok' && <> · {words.observation[tile.observation]}</>}
            <span class="pale">
              {' · '}
              <KnownUntil tile={tile} />
            </span>
          </p>
        </div>
        <dl class="machine-orders">
          <dt class="small">{words.orders}</dt>
          <dd>
            {tile.workingOrders === null
              ? words.ordersUnknown
              : tile.workingOrders.join(' · ') || words.noOrders}
          </dd>
        </dl>
        <Button
          icon="note"
          onClick={() => openSheet({ kind: 'note', machineId, machineName: name })}
        >
          {words.addNote}
        </Button>
      </header>
      <ShiftCourse
        machineId={machineId}
        machineName={name}
        view={view}
        shift={shift}
        shiftChoice={<ShiftChoice index={shiftIndex} onChoose={setShiftIndex} />}
        mine={mine.filter((entry) => entry.kind === 'reason')}
      />
      <div class="machine-columns" hidden={isComing}>
        <div class="column">
          <StopsOfMachine tile={tile} shift={shift} mine={mine} />
          <NotesOfMachine
            notes={view?.notes ?? []}
            mine={mine.filter((entry) => entry.kind === 'note')}
            shift={shift}
          />
        </div>
        <ReasonsOfMachine
          view={view}
          shift={shift}
          mine={mine.filter((entry) => entry.kind === 'reason')}
          machineName={name}
        />
      </div>
    </section>
  );
}

/** Undefined before the answer, null if there is no such machine. */
function useMachineView(machineId: string): MachineView | null | undefined {
  const [view, setView] = useState<MachineView | null>();
  useEffect(() => {
    let isUnmounted = false;
    let timer = 0;
    let lastAtMs = 0;
    let hasFailed = false;
    let asked = 0;
    let answered = 0;
    const load = async (): Promise<void> => {
      timer = 0;
      lastAtMs = nowMs();
      const request = ++asked;
      const answer = await readMachine(machineId);
      // an earlier request may be answered later, over another connection
      if (isUnmounted || request < answered) return;
      answered = request;
      hasFailed = !answer.ok && answer.kind !== 'refused';
      if (answer.ok) setView(answer.value);
      else if (answer.kind === 'refused') setView(null);
    };
    const refresh = (): void => {
      if (timer !== 0) return;
      const isSoon = Math.abs(nowMs() - lastAtMs) < REFRESH_MS;
      timer = setTimeout(() => void load(), isSoon ? REFRESH_MS : 0);
    };
    refresh();
    const stop = changedMachines.subscribe(({ machineIds }) => {
      if (machineIds === 'all' || machineIds.has(machineId)) refresh();
    });
    // no event reports on a machine that is gone, or belongs to another factory than the chosen one
    const asking = setInterval(() => {
      if (hasFailed || tileOf(machineId) === undefined) refresh();
    }, ASK_AGAIN_MS);
    return () => {
      isUnmounted = true;
      clearTimeout(timer);
      clearInterval(asking);
      stop();
    };
  }, [machineId]);
  return view;
}

function ShiftCourse(props: {
  machineId: string;
  machineName: string;
  view: MachineView | null;
  shift: Shift;
  shiftChoice: JSX.Element;
  mine: readonly OutgoingReason[];
}): JSX.Element {
  const { machineId, machineName, view, shift, shiftChoice, mine } = props;
  const words = strings.value;
  const now = plantMinute.value;
  const [zoom, setZoom] = useState<{ of: number; view: Shift } | null>(null);
  const shown = zoom?.of === shift.startTime ? zoom.view : shift;
  const setShown = (next: Shift): void => setZoom({ of: shift.startTime, view: next });
  const before = useRef<{ of: number; bars: readonly Bar[] }>({ of: 0, bars: [] });
  const periods = view?.periods ?? [];
  const earlier = before.current.of === shift.startTime ? before.current.bars : [];
  // before the answer the whole shift would be drawn as unknown
  const bars = view === null ? [] : barsOf(periods, shift, now, earlier);
  before.current = { of: shift.startTime, bars };
  const reasons = reasonBars(view, mine, shift, now, session.value?.shifts ?? []);
  const coloured = reasons.map((reason) => ({
    ...reason,
    name: nameOfReason(machineId, reason.reasonId),
    colour: reasonColour(reason.reasonId, session.value),
  }));
  const open = (tileOf(machineId)?.value.openStops ?? view?.tile.openStops ?? []).flatMap((stop) =>
    unexplainedParts(stop, mine),
  );
  const pick = (bar: Bar): void => {
    if (bar.state === null) return;
    const endTime = bar.isOpen ? null : bar.endTime;
    const period: Period = { startTime: bar.startTime, endTime };
    const covering = reasons.find((reason) => overlap(reason, bar));
    const target: Target = {
      machineId,
      machineName,
      stop: { ...period, state: bar.state },
      // a stop with a reason for a part of it: the rest; one that is explained completely: all of it, to be replaced
      parts: unexplainedIn(period, open),
      operatingSeconds: bar.state === 'OPERATING' ? operatingSeconds(periods, period, now) : 0,
      replaces:
        covering && unexplainedIn(period, open)[0] === period
          ? nameOfReason(machineId, covering.reasonId)
          : undefined,
    };
    openSheet({ kind: 'reason', targets: [target] });
  };
  const isZoomed = shown.endTime - shown.startTime < shift.endTime - shift.startTime;
  const zooms = [
    ['left', words.earlier, isZoomed, moveView(shown, shift, false)],
    ['right', words.later, isZoomed, moveView(shown, shift, true)],
    ['minus', words.zoomOut, isZoomed, zoomView(shown, shift, false)],
    ['plus', words.zoomIn, true, zoomView(shown, shift, true)],
  ] as const;
  return (
    <section class="card" aria-label={words.strip}>
      <div class="course-bar row">
        {shiftChoice}
        <span class="course-times">
          {formats.value.day(shift.startTime)} {formats.value.time(shift.startTime)}–
          {formats.value.time(shift.endTime)}
        </span>
        <span class="course-zoom row">
          {zooms.map(([icon, label, isOn, next]) => (
            <Button
              key={icon}
              kind="square"
              icon={icon}
              aria-label={label}
              title={label}
              disabled={!isOn}
              onClick={() => setShown(next)}
            />
          ))}
        </span>
      </div>
      <Strip
        bars={bars}
        reasons={coloured}
        open={open}
        shift={shift}
        view={shown}
        now={now}
        onView={setShown}
        onPick={pick}
      />
      <Legend />
    </section>
  );
}

function unexplainedIn(period: Period, open: readonly Period[]): Period[] {
  const parts = open
    .filter((stop) => overlap(stop, period))
    .map((stop) => ({
      startTime: Math.max(stop.startTime, period.startTime),
      endTime: period.endTime === null ? null : Math.min(stop.endTime ?? Infinity, period.endTime),
    }));
  return parts.length > 0 ? parts : [period];
}

function Legend(): JSX.Element {
  return (
    <ul class="legend small row">
      {(['OPERATING', 'IDLE', 'OFF', 'NO_DATA'] as const).map((look) => (
        <li class="row" key={look}>
          <StateBlock look={look} />
          {strings.value.state[look]}
        </li>
      ))}
    </ul>
  );
}

function StopsOfMachine(props: {
  tile: Tile;
  shift: Shift;
  mine: readonly Outgoing[];
}): JSX.Element {
  const { tile, shift, mine } = props;
  const words = strings.value;
  const here = stopRows([tile], mine, tick.value)
    .filter((row) => overlap(row.stop, shift))
    .sort((a, b) => b.stop.startTime - a.stop.startTime);
  const { count, seconds } = tile.shortStops;
  return (
    <section class="card column">
      <h2>{words.stopsInShift}</h2>
      {here.length > 0 ? (
        <ul class="stop-list column compact">
          {here.map((row) => (
            <StopItem key={row.key} row={row} withName={false} />
          ))}
        </ul>
      ) : (
        <p class="pale">{words.nothingToExplain}</p>
      )}
      {count > 0 && (
        <p class="short-stops pale">{words.shortStops(count, formats.value.span(seconds))}</p>
      )}
    </section>
  );
}

function ReasonsOfMachine(props: {
  view: MachineView | null;
  shift: Shift;
  mine: readonly OutgoingReason[];
  machineName: string;
}): JSX.Element {
  const { view, shift, mine, machineName } = props;
  const words = strings.value;
  const own = new Map(mine.map((entry) => [entry.id, entry]));
  const entries = view?.entries ?? [];
  const given = entriesIn(shift, entries);
  const known = new Set(entries.map(({ entryId }) => entryId));
  const waiting = mine.filter((entry) => !known.has(entry.id) && overlap(entry, shift));
  const isEmpty = given.length + waiting.length === 0;
  return (
    <section class="card column">
      <h2>{words.reasonsGiven}</h2>
      {isEmpty && <p class="pale">{words.noReasonsGiven}</p>}
      <ul class="given-list">
        {waiting.reverse().map((entry) => (
          <li key={entry.id}>
            <GivenReason entry={entry} withPeriod />
          </li>
        ))}
        {given.map((entry) => (
          <li key={entry.entryId}>
            <SentReason
              entry={entry}
              own={own.get(entry.entryId)}
              machineName={machineName}
              view={view}
            />
          </li>
        ))}
      </ul>
      <p class="hint">{words.setOnlyHint}</p>
    </section>
  );
}

function SentReason(props: {
  entry: Entry;
  own: OutgoingReason | undefined;
  machineName: string;
  view: MachineView | null;
}): JSX.Element {
  const { entry, own, machineName, view } = props;
  const words = strings.value;
  const { machineId, reasonId, startTime } = entry;
  const applies = appliesIn(entry, view?.classifications ?? [], plantMinute.value);
  const correct = (): void => {
    const now = plantMinute.peek();
    const state = view?.periods.find((period) => overlap(period, entry))?.state ?? 'IDLE';
    const seconds = applies
      .map((part) => operatingSeconds(view?.periods ?? [], part, now))
      .reduce((sum, each) => sum + each, 0);
    const target: Target = {
      machineId,
      machineName,
      stop: own?.stop ?? { startTime, endTime: applies.at(-1)?.endTime ?? null, state },
      parts: applies,
      // states have a resolution of a minute: as on the server, up to one needs no second tap
      operatingSeconds: seconds > 60 ? seconds : 0,
      replaces: nameOfReason(machineId, reasonId),
    };
    openSheet({ kind: 'reason', targets: [target] });
  };
  const by = [entry.operator, entry.station ?? words.fromElsewhere].filter(Boolean).join(', ');
  return (
    <ReasonLine
      entry={entry}
      name={nameOfReason(machineId, reasonId)}
      when={
        applies.map(periodText).join(', ') || formats.value.timeOn(startTime, plantMinute.value)
      }
      actions={applies.length > 0 && <Button onClick={correct}>{words.correct}</Button>}
    >
      {entry.moved && (
        <span class="status pale status-moved">
          <Icon name="attention" />
          {words.movedHint}
        </span>
      )}
      <span class="small">
        <bdi>{by}</bdi>, {formats.value.timeOn(entry.sentAt, plantMinute.value)}
      </span>
    </ReasonLine>
  );
}

function NotesOfMachine(props: {
  notes: readonly Note[];
  mine: readonly OutgoingNote[];
  shift: Shift;
}): JSX.Element {
  const { notes, mine, shift } = props;
  const words = strings.value;
  const known = new Set(notes.map(({ noteId }) => noteId));
  const waiting = mine.filter(
    ({ id, status, madeAt }) =>
      !known.has(id) && (status !== 'applied' || madeAt >= shift.startTime),
  );
  const here = notes.filter((note) =>
    overlap({ startTime: note.startTime, endTime: note.endTime ?? note.startTime + 1 }, shift),
  );
  return (
    <section class="card column">
      <h2>{words.notes}</h2>
      {here.length + waiting.length === 0 && <p class="pale">{words.noNotes}</p>}
      <ul class="note-list">
        {waiting.map((note) => (
          <li key={note.id}>
            <p>{note.text}</p>
            <EntryStatus entry={note} />
          </li>
        ))}
        {[...here]
          .sort((a, b) => b.at - a.at)
          .map((note) => (
            <li key={note.noteId}>
              <NoteText note={note} />
            </li>
          ))}
      </ul>
      <p class="hint">{words.noteHint}</p>
    </section>
  );
}

export function NoteText({ note }: { note: Note }): JSX.Element {
  return (
    <>
      <p>{note.text}</p>
      <p class="small">
        <bdi>{[note.operator, note.station].filter(Boolean).join(', ')}</bdi>,{' '}
        {formats.value.timeOn(note.at, plantMinute.value)}
      </p>
    </>
  );
}
