import type { MachineInfo, MachineStateReading } from '#libs/cloud-client';
import type { ObservationLossReason } from '#libs/contracts';
import {
  type ActivityLog,
  finalUntil,
  segmentsUpTo,
  settledPart,
  unreadAfter,
} from './activity-log.js';
import { historyEdge, type LogUpToReading, periodsToPublish } from './periods.js';
import {
  type Detection,
  observationLost,
  observationRestored,
  publishChain,
  type SequencedEvent,
} from './state-events.js';
import {
  type Freshness,
  isNewLoss,
  isOlderThanKnown,
  isStale,
  MOST_PERIODS,
  mostUnreadPeriods,
  newlyTracked,
  renamed,
  settled,
  type TrackedMachine,
} from './tracked-machine.js';

/** What a poll brought to light. */
export type PollResult =
  /**
   * `log` is null when it was not needed or could not be had. Where it was needed, periods may be missing from
   * `missingFrom` on until it has been read and what it says is published; epoch seconds.
   */
  | {
      kind: 'reading';
      reading: MachineStateReading;
      log: ActivityLog | null;
      missingFrom?: number;
    }
  | { kind: 'lost'; reason: ObservationLossReason }
  /** Nothing but that there is such a machine. */
  | { kind: 'listed' };

/** A poll's time, and for how long what the log says may still change. */
export interface DerivationContext extends Freshness {
  settleSeconds: number;
  /** How many periods may be remembered while the log cannot be read; see {@link mostUnreadPeriods}. */
  mostUnreadPeriods?: number;
}

export interface Derivation {
  /** In the order of their sequence; each with what is remembered after it. */
  events: SequencedEvent[];
  next: TrackedMachine;
}

/** The events of a poll's result. Asked again with the same answers and the result of the first time, none. */
export function deriveStateChanges(
  machine: MachineInfo,
  before: TrackedMachine | undefined,
  result: PollResult,
  context: DerivationContext,
): Derivation {
  const tracked = before === undefined ? newlyTracked(machine) : renamed(before, machine);
  switch (result.kind) {
    case 'reading':
      return afterReading(tracked, result, context);
    case 'lost':
      return afterLoss(tracked, result.reason, context.now);
    case 'listed':
      return { events: [], next: tracked };
    default:
      return result satisfies never;
  }
}

function afterLoss(
  tracked: TrackedMachine,
  reason: ObservationLossReason,
  now: number,
): Derivation {
  if (!isNewLoss(tracked.observation, reason)) return { events: [], next: tracked };
  const lost = observationLost(tracked, reason, now);
  return { events: [lost], next: lost.after };
}

type Answers = Omit<Extract<PollResult, { kind: 'reading' }>, 'kind'>;

function afterReading(
  tracked: TrackedMachine,
  { reading, log, missingFrom }: Answers,
  context: DerivationContext,
): Derivation {
  const { now } = context;
  const isOlder = isOlderThanKnown(tracked, reading);
  const lastUpdateTime = isOlder ? tracked.lastUpdateTime : reading.lastUpdateTime;
  const isFresh = !isStale({ lastUpdateTime: lastUpdateTime ?? 0 }, context);
  // Until all events are published there may be more to read, whatever the log has said; nor is it known for
  // whoever goes on after a crash how long the state before was seen, once the update time has moved.
  const unreadFrom = missingFrom ?? tracked.unreadFrom;
  const events: SequencedEvent[] = [];
  let next: TrackedMachine = { ...tracked, unreadFrom };
  const add = (event: SequencedEvent): void => {
    events.push(event);
    next = event.after;
  };
  if (!isOlder) {
    const segments = log === null ? [] : segmentsUpTo(reading, log);
    const final = finalUntil(reading, context);
    const settledTime = settledPart(final, segments);
    const toPublish = periodsToPublish(tracked, reading, { log, segments, settledTime });
    const { before, chain } = toPublish;
    // What began before the log that can be read is as good as settled.
    if (before !== null) next = settled(next, before.startTime);
    const nextDetection = detections(now, log?.truncatedBefore ?? historyEdge(toPublish, log));
    if (isFresh && next.observation !== 'ok') {
      add(observationRestored(next, reading.lastUpdateTime, nextDetection()));
    }
    // Those that wait for the log are kept until it has been read, and then until all are corrected.
    const most =
      log === null && unreadFrom !== null
        ? (context.mostUnreadPeriods ?? mostUnreadPeriods(1))
        : Math.max(MOST_PERIODS, tracked.periods.length);
    for (const event of publishChain(next, before, chain, nextDetection, most)) add(event);
    if (log !== null) {
      const unread = unreadAfter(reading, segments, final, log.startBefore);
      next = { ...next, unreadFrom: stillUnread(next, unread, { log, segments, settledTime }) };
    }
    next = settled(next, settledTime);
    if (next.observation === 'ok') next = { ...next, lostSince: null };
  }
  next = { ...next, lastUpdateTime };
  if (!isFresh && isNewLoss(next.observation, 'stale')) add(observationLost(next, 'stale', now));
  return { events, next };
}

/** Before the first period nothing is missing but the history that is wanted; it is published once it is settled. */
function stillUnread(
  { periods }: TrackedMachine,
  unreadFrom: number | null,
  { log, segments, settledTime }: LogUpToReading,
): number | null {
  const [first, historyFrom] = [periods[0]?.startTime ?? -Infinity, log?.historyFrom];
  if (
    historyFrom !== undefined &&
    settledTime < first &&
    segments.some(({ startTime, endTime }) => startTime < first && endTime > historyFrom)
  ) {
    return historyFrom;
  }
  return unreadFrom === null ? null : Math.max(unreadFrom, historyFrom ?? first);
}

/** The first event after a gap that was too long says so; the others follow from it. */
function detections(detectedAt: number, edge: number | undefined): () => Detection {
  return () => {
    const detection = edge === undefined ? {} : { historyTruncatedBefore: edge };
    edge = undefined;
    return { detectedAt, ...detection };
  };
}
