import { type MachineInfo, type MachineStateReading } from '#libs/cloud-client';
import { type ObservationLossReason } from '#libs/contracts';
import { type ActivityLog, newPeriods } from './new-periods.js';
import {
  observationLost,
  observationRestored,
  type SequencedEvent,
  stateChanged,
} from './sequenced-event.js';
import { newlyTracked, renamed, type TrackedMachine } from './tracked-machine.js';

/** What a poll brought to light. */
export type Sighting =
  /** `log` is null when it was not needed or could not be had. */
  | { kind: 'reading'; reading: MachineStateReading; log: ActivityLog | null }
  | { kind: 'lost'; reason: ObservationLossReason };

export interface Derivation {
  /** In the order of their sequence; each with what is remembered after it. */
  events: SequencedEvent[];
  /** What is remembered after all of them. */
  next: TrackedMachine;
}

interface Context {
  /** Epoch seconds. */
  now: number;
  staleAfterSeconds: number;
}

/**
 * The events a sighting gives rise to, given what was published of the machine before. Asked again with
 * the same answers and the result of the first time, it gives none.
 */
export function deriveStateChanges(
  machine: MachineInfo,
  before: TrackedMachine | undefined,
  sighting: Sighting,
  context: Context,
): Derivation {
  const tracked = before === undefined ? newlyTracked(machine) : renamed(before, machine);
  switch (sighting.kind) {
    case 'reading':
      return afterReading(tracked, sighting, context);
    case 'lost':
      return afterLoss(tracked, sighting.reason, context.now);
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
  if (tracked.observation === reason) return { events: [], next: tracked };
  const lost = observationLost(tracked, reason, now);
  return { events: [lost], next: lost.after };
}

function afterReading(
  tracked: TrackedMachine,
  { reading, log }: { reading: MachineStateReading; log: ActivityLog | null },
  { now, staleAfterSeconds }: Context,
): Derivation {
  const events: SequencedEvent[] = [];
  let next = withUpdateTime(tracked, reading);
  const add = (event: SequencedEvent): void => {
    events.push(event);
    next = event.after;
  };
  const isStale = now - reading.lastUpdateTime > staleAfterSeconds;
  if (!isStale && next.observation !== 'ok') {
    add(observationRestored(next, reading.lastUpdateTime, now));
  }
  if (!isOlderThanKnown(tracked, reading)) {
    for (const period of newPeriods(tracked.current, reading, log)) {
      add(stateChanged(next, period, now));
    }
  }
  if (isStale && next.observation !== 'stale') add(observationLost(next, 'stale', now));
  return { events, next };
}

/** An answer overtaken by a newer one says nothing about states. */
function isOlderThanKnown({ lastUpdateTime }: TrackedMachine, reading: MachineStateReading) {
  return lastUpdateTime !== null && reading.lastUpdateTime < lastUpdateTime;
}

function withUpdateTime(tracked: TrackedMachine, reading: MachineStateReading): TrackedMachine {
  const lastUpdateTime = Math.max(tracked.lastUpdateTime ?? 0, reading.lastUpdateTime);
  return { ...tracked, lastUpdateTime };
}
