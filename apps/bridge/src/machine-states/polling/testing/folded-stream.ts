import type { ActivityLogEntry, MachineStateReading } from '#libs/cloud-client';
import {
  type MachineState,
  type MachineStateRecord,
  STATE_EVENT_TYPES,
  type StateChanged,
} from '#libs/contracts';
import type { SequencedEvent } from '../../derivation/state-events.js';
import { MINUTE, timeOf, type Timeline } from './simulated-service.js';

/** The latest version of each published period, as a subscriber keeps them: a correction replaces what it corrects. */
export function latestVersions(events: readonly SequencedEvent[]): StateChanged[] {
  const versions = new Map<string, StateChanged>();
  for (const { id, event } of events) {
    if (versions.has(id)) throw new Error(`two events are called ${id}`);
    if (event.type === STATE_EVENT_TYPES.changed) versions.set(id, event.data);
    if (event.type === STATE_EVENT_TYPES.corrected) {
      if (!versions.delete(event.data.corrects)) throw new Error('corrects what is not there');
      versions.set(id, event.data);
    }
  }
  return [...versions.values()];
}

/**
 * Checks that events count from 1 without gaps and have ids of their own, each row continues the previous one, and the
 * record has the latest.
 */
export function expectContinuous(
  events: readonly SequencedEvent[],
  record: MachineStateRecord | undefined,
): void {
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  const rows = inOrder(latestVersions(events));
  const { state, startTime } = rows.at(-1) ?? {};
  if (rows.length > 0) expect(record).toMatchObject({ state, startTime, sequence: events.length });
  // a row with the content of the previous one is no row any more
  const standing = rows.filter(
    (it) => it.state !== it.previousState || it.startTime !== it.previousStartTime,
  );
  for (const [at, { previousState, previousStartTime }] of standing.entries()) {
    const before = standing[at - 1] ?? { state: null, startTime: null };
    expect(before).toMatchObject({ state: previousState, startTime: previousStartTime });
  }
}

/** Not true of a row with the content of the previous one. */
export function booksTime({
  startTime,
  previousStartTime,
  previousEndTime,
}: StateChanged): boolean {
  return (previousEndTime ?? startTime) !== previousStartTime;
}

/** The timeline by events, each of which books its previous period. */
export function bookedTimeline(versions: readonly StateChanged[], minutes: number): Timeline {
  const timeline: Timeline = Array.from({ length: minutes }, () => null);
  for (const { previousState, previousStartTime, previousEndTime, startTime } of versions) {
    if (previousStartTime === null) continue;
    const [first, end] = [minuteOf(previousStartTime), minuteOf(previousEndTime ?? startTime)];
    for (let minute = Math.max(0, first); minute < end; minute += 1) {
      if (timeline[minute] !== null) throw new Error(`minute ${minute} is booked twice`);
      timeline[minute] = previousState;
    }
  }
  return timeline;
}

/** The booked timeline with the latest period, which is open. */
export function wholeTimeline(versions: readonly StateChanged[], minutes: number): Timeline {
  const latest = inOrder(versions).at(-1);
  const booked = bookedTimeline(versions, minutes);
  if (latest === undefined) return booked;
  const first = minuteOf(latest.startTime);
  if (booked.slice(first).some((state) => state !== null)) throw new Error('booked beyond the end');
  return booked.fill(latest.state, Math.max(0, first));
}

/** The timeline if each period lasts until the next, without gaps. */
export function lastingTimeline(versions: readonly StateChanged[], minutes: number): Timeline {
  const timeline: Timeline = Array.from({ length: minutes }, () => null);
  for (const { state, startTime } of inOrder(versions)) {
    timeline.fill(state, Math.max(0, minuteOf(startTime)));
  }
  return timeline;
}

/** Tolerance of a start, and one failed poll. */
const TOLERATED_MINUTES = 3;

/** The states that the service has answered for each minute: as present, by their duration or in the log. */
export class VouchedStates {
  private readonly states = new Map<number, Set<MachineState>>();

  take(readings: readonly MachineStateReading[], entries: readonly ActivityLogEntry[]): void {
    for (const { state, durationInMinutes, lastUpdateTime } of readings) {
      this.add(state, lastUpdateTime - durationInMinutes * MINUTE, lastUpdateTime);
    }
    for (const { state, startTime, endTime } of entries) this.add(state, startTime, endTime);
  }

  /** Minutes that are booked for a state without an answer for it. */
  invented(booked: Timeline): [minute: number, state: MachineState | null][] {
    return [...booked.entries()].filter(
      ([minute, state]) => state !== null && this.states.get(minute)?.has(state) !== true,
    );
  }

  private add(state: MachineState, startTime: number, endTime: number): void {
    const [first, last] = [minuteOf(startTime), minuteOf(endTime)];
    for (let at = first - TOLERATED_MINUTES; at <= last + TOLERATED_MINUTES; at += 1) {
      const states = this.states.get(at) ?? new Set();
      this.states.set(at, states.add(state));
    }
  }
}

function inOrder(versions: readonly StateChanged[]): StateChanged[] {
  return [...versions].sort((a, b) => a.startTime - b.startTime);
}

export function minuteOf(time: number): number {
  return Math.floor((time - timeOf(0)) / MINUTE);
}
