import { type MachineInfo, type MachineStateReading } from '#libs/cloud-client';
import { type ObservationLossReason } from '#libs/contracts';
import { firstPeriods, historyEdge } from './first-periods.js';
import { type ActivityLog, segmentsUpTo } from './logged-periods.js';
import { isNewLoss, isStale } from './observation.js';
import { NO_LOG, periodsAfter, type PeriodsToTell } from './periods-after.js';
import { publishChain } from './publish-chain.js';
import {
  type Detection,
  observationLost,
  observationRestored,
  type SequencedEvent,
} from './sequenced-event.js';
import { finalUntil, readUntil, settledPart, type SettleContext } from './settled-log.js';
import { newlyTracked, renamed, settled, type TrackedMachine } from './tracked-machine.js';

/** What a poll brought to light. */
export type Sighting =
  /** `log` is null when it was not needed or could not be had. */
  | { kind: 'reading'; reading: MachineStateReading; log: ActivityLog | null }
  | { kind: 'lost'; reason: ObservationLossReason }
  /** Nothing but that there is such a machine. */
  | { kind: 'listed' };

export interface Derivation {
  /** In the order of their sequence; each with what is remembered after it. */
  events: SequencedEvent[];
  /** What is remembered after all of them. */
  next: TrackedMachine;
}

/**
 * The events a sighting gives rise to, given what was published of the machine before. Asked again with
 * the same answers and the result of the first time, it gives none.
 */
export function deriveStateChanges(
  machine: MachineInfo,
  before: TrackedMachine | undefined,
  sighting: Sighting,
  context: SettleContext,
): Derivation {
  const tracked = before === undefined ? newlyTracked(machine) : renamed(before, machine);
  switch (sighting.kind) {
    case 'reading':
      return afterReading(tracked, sighting, context);
    case 'lost':
      return afterLoss(tracked, sighting.reason, context.now);
    case 'listed':
      return { events: [], next: tracked };
    default: {
      const unforeseen: never = sighting;
      throw new Error(`unforeseen sighting ${JSON.stringify(unforeseen)}`);
    }
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

type Answers = Omit<Extract<Sighting, { kind: 'reading' }>, 'kind'>;

function afterReading(
  tracked: TrackedMachine,
  { reading, log }: Answers,
  context: SettleContext,
): Derivation {
  const { now } = context;
  const nextDetection = detections(now, log);
  const isFresh = !isStale(reading, context);
  const events: SequencedEvent[] = [];
  let next = withUpdateTime(tracked, reading);
  const add = (event: SequencedEvent): void => {
    events.push(event);
    next = event.after;
  };
  if (isFresh && next.observation !== 'ok') {
    add(observationRestored(next, reading.lastUpdateTime, nextDetection()));
  }
  if (!isOlderThanKnown(tracked, reading)) {
    const { before, chain } = periodsToTell(next, { reading, log }, context);
    for (const event of publishChain(next, before, chain, nextDetection)) add(event);
    if (log !== null) next = settled(next, readUntil(reading, log, context));
  }
  if (!isFresh && isNewLoss(next.observation, 'stale')) add(observationLost(next, 'stale', now));
  return { events, next };
}

function periodsToTell(
  tracked: TrackedMachine,
  { reading, log }: Answers,
  context: SettleContext,
): PeriodsToTell {
  if (tracked.periods.length === 0) {
    const chain = firstPeriods(reading, log).map((period) => ({ published: null, period }));
    return { before: null, chain };
  }
  if (log === null) return periodsAfter(tracked, reading, NO_LOG);
  const segments = segmentsUpTo(reading, log);
  const settledTime = settledPart(finalUntil(reading, context), segments);
  return periodsAfter(tracked, reading, { segments, from: log.from, settledTime });
}

/** The first event after a gap that was too long says so; the others follow from it. */
function detections(detectedAt: number, log: ActivityLog | null): () => Detection {
  let edge = log === null ? undefined : (log.truncatedBefore ?? historyEdge(log));
  return () => {
    const detection = edge === undefined ? {} : { historyTruncatedBefore: edge };
    edge = undefined;
    return { detectedAt, ...detection };
  };
}

/** An answer overtaken by a newer one says nothing about states. */
function isOlderThanKnown({ lastUpdateTime }: TrackedMachine, reading: MachineStateReading) {
  return lastUpdateTime !== null && reading.lastUpdateTime < lastUpdateTime;
}

function withUpdateTime(tracked: TrackedMachine, reading: MachineStateReading): TrackedMachine {
  const lastUpdateTime = Math.max(tracked.lastUpdateTime ?? 0, reading.lastUpdateTime);
  return { ...tracked, lastUpdateTime };
}
