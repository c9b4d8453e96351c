import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { HandOver as HandOverData } from '../../../src/api/index.js';
import { call } from '../state/api-client.js';
import { reasonsLoaded } from '../state/live-updates.js';
import { unsentEntries } from '../state/outbox.js';
import { Icon } from '../parts/icons.js';
import { hrefOf } from '../state/router.js';
import { plantMinute, plantSeconds } from '../state/clock.js';
import {
  connection,
  factoryId,
  formats,
  link,
  nameOfReason,
  session,
  strings,
  tileOf,
} from '../state/store.js';
import { NoteText } from './machine.js';
import { Button, FactoryChoice, ShiftChoice } from '../parts/controls.js';

const REFRESH_MS = 10_000;

/** Unexplained minutes by machine, on screen and on paper. */
export function HandOver(): JSX.Element {
  const words = strings.value;
  const [shift, setShift] = useState<0 | 1>(0);
  const loaded = useHandOver(shift);
  const data = loaded?.data;
  const unsentCount = unsentEntries.value?.count ?? 0;
  const { time, timeOn, day, span } = formats.value;
  const sumOf = (of: (machine: HandOverData['machines'][number]) => number): number =>
    data?.machines.reduce((sum, machine) => sum + of(machine), 0) ?? 0;
  const unexplained = sumOf(({ unexplainedSeconds }) => unexplainedSeconds);
  const short = sumOf(({ shortSeconds }) => shortSeconds);
  const stopped = sumOf(({ stoppedSeconds }) => stoppedSeconds);
  const figures = [
    [words.unexplained, unexplained],
    [words.explained, Math.max(0, stopped - unexplained - short)],
    [words.shortStopped, short],
    [words.stopped, stopped],
  ] as const;
  return (
    <section class="hand-over" aria-label={words.handOver}>
      <div class="filters row no-print">
        <FactoryChoice />
        <ShiftChoice index={shift} onChoose={setShift} />
        <Button icon="print" onClick={() => window.print()}>
          {words.print}
        </Button>
      </div>
      {loaded && data && (
        <>
          <h1>
            {words.handOver} · {day(data.shift.startTime)} {time(data.shift.startTime)}–
            {time(data.shift.endTime)}{' '}
            <small class="pale">
              {words.asOf(timeOn(loaded.at, plantMinute.value))}
              {loaded.knownUntil !== null &&
                ` · ${words.knownUpTo(timeOn(loaded.knownUntil, plantMinute.value))}`}
            </small>
          </h1>
          {unsentCount > 0 && (
            <p class="warning row">
              <Icon name="attention" />
              {words.handOverUnsent(unsentCount)}
            </p>
          )}
          <dl class="figures row">
            {figures.map(([what, seconds]) => (
              <div class="card" key={what}>
                <dt class="pale">{what}</dt>
                <dd class={what === words.shortStopped ? 'pale' : ''}>{span(seconds)}</dd>
              </div>
            ))}
          </dl>
          <HandOverTable data={data} />
        </>
      )}
      {!data && <p class="empty">{words.loading}</p>}
    </section>
  );
}

function HandOverTable({ data }: { data: HandOverData }): JSX.Element {
  const words = strings.value;
  const { span } = formats.value;
  const machines = [...data.machines].sort(
    (a, b) => b.unexplainedSeconds - a.unexplainedSeconds || b.stoppedSeconds - a.stoppedSeconds,
  );
  const most = Math.max(1, ...machines.map(({ stoppedSeconds }) => stoppedSeconds));
  return (
    <table class="hand-over-table">
      <thead class="pale">
        <tr>
          <th scope="col">{words.machine}</th>
          <th scope="col" class="number">
            {words.unexplained}
          </th>
          <th scope="col" class="number of-all">
            {words.shortStopped}
          </th>
          <th scope="col" class="number of-all">
            {words.stopped}
          </th>
          <th scope="col" class="share no-print">
            <span class="visually-hidden">{words.unexplained}</span>
          </th>
          <th scope="col">{words.allReasons}</th>
        </tr>
      </thead>
      <tbody>
        {machines.map((machine) => (
          <tr key={machine.machineId}>
            <th scope="row">
              <a
                class="row-link row"
                href={hrefOf({ view: 'machine', machineId: machine.machineId })}
              >
                {tileOf(machine.machineId)?.value.displayName ?? machine.displayName}
              </a>
            </th>
            <td class={`number ${machine.unexplainedSeconds >= 60 ? 'due' : 'pale'}`}>
              {machine.unexplainedSeconds >= 60 && <Icon name="attention" />}
              {span(machine.unexplainedSeconds)}
            </td>
            <td class="number of-all pale">{span(machine.shortSeconds)}</td>
            <td class="number of-all">{span(machine.stoppedSeconds)}</td>
            <td class="share no-print">
              <svg
                class="share-bar"
                viewBox="0 0 100 10"
                preserveAspectRatio="none"
                aria-hidden="true"
              >
                <rect class="share-all" width={(machine.stoppedSeconds / most) * 100} height="10" />
                <rect
                  class="share-due"
                  width={(machine.unexplainedSeconds / most) * 100}
                  height="10"
                />
              </svg>
            </td>
            <td>
              {machine.reasons.map(({ reasonId, seconds }, index) => (
                <span key={reasonId}>
                  {index > 0 && ' · '}
                  <bdi>{nameOfReason(machine.machineId, reasonId)}</bdi> {span(seconds)}
                </span>
              ))}
              {machine.notes.map((note) => (
                <div class="hand-over-note" key={note.noteId}>
                  <NoteText note={note} />
                </div>
              ))}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The figures for the chosen shift and factory, and when they were received, in the plant's time. */
interface LoadedHandOver {
  query: string;
  at: number;
  /** Up to when states were known then. */
  knownUntil: number | null;
  data: HandOverData;
}

/** Null until the figures for the present choice have arrived: earlier ones would be taken for them. */
function useHandOver(shift: 0 | 1): LoadedHandOver | null {
  const [loaded, setLoaded] = useState<LoadedHandOver | null>(null);
  const factory = factoryId.value;
  const isLive = connection.value.state === 'live';
  const shiftStart = session.value?.shifts[0]?.startTime;
  const query = new URLSearchParams({
    shift: String(shift),
    ...(factory === null ? {} : { factoryId: factory }),
  }).toString();
  useEffect(() => {
    let isUnmounted = false;
    const load = async (): Promise<void> => {
      const asked = call<HandOverData>('GET', `/api/hand-over?${query}`, 'machines');
      // reason names that arrive after the figures would move the rows
      const [answer] = await Promise.all([asked, reasonsLoaded()]);
      if (!answer.ok || isUnmounted) return;
      const knownUntil = link.peek()?.knownUntil ?? null;
      setLoaded({ query, at: plantSeconds(), knownUntil, data: answer.value });
    };
    void load();
    const timer = setInterval(() => void load(), REFRESH_MS);
    return () => {
      isUnmounted = true;
      clearInterval(timer);
    };
  }, [query, isLive, shiftStart]);
  return loaded?.query === query ? loaded : null;
}
