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
  namesOf,
  dropSettled,
  type TrackedMachine,
} from './tracked-machine.js';

/** Result of a poll. */
export type PollResult =
  /**
   * `log` is null when it was not needed or not available. Periods from `missingFrom` (epoch seconds) on may be
   * missing until the log has been read and its periods are published.
   */
  | {
      kind: 'reading';
      reading: MachineStateReading;
      log: ActivityLog | null;
      missingFrom?: number;
    }
  | { kind: 'lost'; reason: ObservationLossReason }
  /** The machine exists; nothing more is known. */
  | { kind: 'listed' };

/** Time of the poll, and how long the log may still change. */
export interface DerivationContext extends Freshness {
  settleSeconds: number;
  /** Maximum of periods kept while the log cannot be read; see {@link mostUnreadPeriods}. */
  mostUnreadPeriods?: number;
}

export interface Derivation {
  /** In order of `sequence`, each with the tracked machine after it. */
  events: SequencedEvent[];
  next: TrackedMachine;
}

/** Derives the events of a poll's result. The same result applied to `next` yields no events. */
export function deriveStateChanges(
  machine: MachineInfo,
  before: TrackedMachine | undefined,
  result: PollResult,
  context: DerivationContext,
): Derivation {
  const tracked = before === undefined ? newlyTracked(machine) : { ...before, ...namesOf(machine) };
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
  // Every event keeps `unreadFrom`: after a crash before the last one, the next owner reads the log again. The update
  // time, once it has moved, would not tell it how long the previous state was seen.
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
    // The log cannot correct periods before its start, so that they count as settled.
    if (before !== null) next = dropSettled(next, before.startTime);
    const edge = log?.truncatedBefore ?? historyEdge(toPublish, log);
    let detection: Detection = {
      detectedAt: now,
      ...(edge !== undefined && { historyTruncatedBefore: edge }),
    };
    if (isFresh && next.observation !== 'ok') {
      add(observationRestored(next, reading.lastUpdateTime, detection));
      detection = { detectedAt: now };
    }
    // Periods that wait for the log are kept until it has been read and all of them are corrected.
    const most =
      log === null && unreadFrom !== null
        ? (context.mostUnreadPeriods ?? mostUnreadPeriods(1))
        : Math.max(MOST_PERIODS, tracked.periods.length);
    for (const event of publishChain(next, before, chain, detection, most)) add(event);
    if (log !== null) {
      const unread = unreadAfter(reading, segments, final, log.startBefore);
      next = { ...next, unreadFrom: stillUnread(next, unread, { log, segments, settledTime }) };
    }
    next = dropSettled(next, settledTime);
    if (next.observation === 'ok') next = { ...next, lostSince: null };
  }
  next = { ...next, lastUpdateTime };
  if (!isFresh && isNewLoss(next.observation, 'stale')) add(observationLost(next, 'stale', now));
  return { events, next };
}

/** Limits `unreadFrom` to the first period or, until it is settled and published, to the wanted history before it. */
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
