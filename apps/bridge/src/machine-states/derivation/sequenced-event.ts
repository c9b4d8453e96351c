import { createHash } from 'node:crypto';
import {
  type ObservationLossReason,
  STATE_EVENT_TYPES,
  type StateEvent,
  stateChangeId,
} from '#libs/contracts';
import { type Period } from './new-periods.js';
import { type TrackedMachine } from './tracked-machine.js';

/** An event with its CloudEvents attributes, and what is remembered once it is published. */
export interface SequencedEvent {
  id: string;
  /** Epoch seconds: the start of what it tells of, not the time of its detection. */
  time: number;
  sequence: number;
  event: StateEvent;
  after: TrackedMachine;
}

export function stateChanged(
  tracked: TrackedMachine,
  period: Period,
  detectedAt: number,
): SequencedEvent {
  const { machineId, factoryId, current } = tracked;
  const { state, startTime, startTimeSource } = period;
  const previous = current && { state: current.state, startTime: current.startTime };
  const id = stateChangeId(machineId, startTime, state, 0);
  return sequenced(
    { ...tracked, current: { ...period, revision: 0, eventId: id }, previous },
    { id, time: startTime },
    {
      type: STATE_EVENT_TYPES.changed,
      data: {
        machineId,
        factoryId,
        state,
        previousState: previous?.state ?? null,
        startTime,
        previousStartTime: previous?.startTime ?? null,
        detectedAt,
        revision: 0,
        startTimeSource,
      },
    },
  );
}

/** A second loss while the machine is lost tells of another reason; `since` stays. */
export function observationLost(
  tracked: TrackedMachine,
  reason: ObservationLossReason,
  detectedAt: number,
): SequencedEvent {
  const { machineId, factoryId } = tracked;
  const since = tracked.lostSince ?? tracked.lastUpdateTime ?? detectedAt;
  const lastState = tracked.current?.state ?? null;
  return sequenced(
    { ...tracked, observation: reason, lostSince: since },
    { id: observationEventId(tracked, reason), time: since },
    {
      type: STATE_EVENT_TYPES.observationLost,
      data: { machineId, factoryId, reason, since, detectedAt, lastState },
    },
  );
}

export function observationRestored(
  tracked: TrackedMachine,
  lastUpdateTime: number,
  detectedAt: number,
): SequencedEvent {
  const { machineId, factoryId } = tracked;
  const lostSince = tracked.lostSince ?? lastUpdateTime;
  const restoredAt = Math.max(lastUpdateTime, lostSince);
  return sequenced(
    { ...tracked, observation: 'ok', lostSince: null },
    { id: observationEventId(tracked, 'ok'), time: restoredAt },
    {
      type: STATE_EVENT_TYPES.observationRestored,
      data: { machineId, factoryId, lostSince, restoredAt, detectedAt },
    },
  );
}

function sequenced(
  tracked: TrackedMachine,
  { id, time }: { id: string; time: number },
  event: StateEvent,
): SequencedEvent {
  const sequence = tracked.sequence + 1;
  return { id, time, sequence, event, after: { ...tracked, sequence } };
}

/** Found again after a crash, the same loss or return is the machine's same event in the same place. */
function observationEventId(tracked: TrackedMachine, observation: string): string {
  const { machineId, current, sequence } = tracked;
  const parts = [machineId, observation, current?.startTime ?? null, sequence + 1];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
