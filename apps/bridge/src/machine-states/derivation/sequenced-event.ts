import { createHash } from 'node:crypto';
import {
  type ObservationLossReason,
  STATE_EVENT_TYPES,
  type StateChanged,
  type StateEvent,
  stateChangeId,
} from '#libs/contracts';
import type { EventIdentity, PublishedPeriod } from './published-period.js';
import { currentPeriod, type TrackedMachine } from './tracked-machine.js';

/** An event with its CloudEvents attributes, and what is remembered once it is published. */
export interface SequencedEvent {
  id: string;
  /** Epoch seconds: the start of what it is about, not the time of its detection. */
  time: number;
  sequence: number;
  event: StateEvent;
  after: TrackedMachine;
}

/** When something was noticed, and before when nothing could be read any more, if that is so. */
export interface Detection {
  detectedAt: number;
  historyTruncatedBefore?: number;
}

/** @param after what is remembered with the period, but for the sequence */
export function stateChanged(
  after: TrackedMachine,
  period: PublishedPeriod,
  detection: Detection,
): SequencedEvent {
  return sequenced(
    after,
    { id: periodEventId(after, period), time: period.startTime },
    { type: STATE_EVENT_TYPES.changed, data: stateData(after, period, detection) },
  );
}

/** As {@link stateChanged}, in place of an event published before. */
export function stateCorrected(
  after: TrackedMachine,
  period: PublishedPeriod,
  corrected: EventIdentity,
  detection: Detection,
): SequencedEvent {
  const corrects = periodEventId(after, corrected);
  return sequenced(
    after,
    { id: periodEventId(after, period), time: period.startTime },
    {
      type: STATE_EVENT_TYPES.corrected,
      data: { ...stateData(after, period, detection), corrects },
    },
  );
}

export function observationLost(
  tracked: TrackedMachine,
  reason: ObservationLossReason,
  detectedAt: number,
): SequencedEvent {
  const { machineId, factoryId } = tracked;
  const since = tracked.lostSince ?? tracked.lastUpdateTime ?? detectedAt;
  const lastState = currentPeriod(tracked)?.state ?? null;
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
  detection: Detection,
): SequencedEvent {
  const { machineId, factoryId } = tracked;
  const lostSince = tracked.lostSince ?? lastUpdateTime;
  const restoredAt = Math.max(lastUpdateTime, lostSince);
  return sequenced(
    { ...tracked, observation: 'ok', lostSince: null },
    { id: observationEventId(tracked, 'ok'), time: restoredAt },
    {
      type: STATE_EVENT_TYPES.observationRestored,
      data: { machineId, factoryId, lostSince, restoredAt, ...detection },
    },
  );
}

function stateData(
  { machineId, factoryId }: TrackedMachine,
  period: PublishedPeriod,
  detection: Detection,
): StateChanged {
  const { state, previousState, startTime, previousStartTime, revision, startTimeSource } = period;
  const { previousEndTime } = period;
  return {
    machineId,
    factoryId,
    state,
    previousState,
    startTime,
    previousStartTime,
    ...(previousEndTime === null ? {} : { previousEndTime }),
    ...detection,
    revision,
    startTimeSource,
  };
}

function sequenced(
  tracked: TrackedMachine,
  { id, time }: { id: string; time: number },
  event: StateEvent,
): SequencedEvent {
  const sequence = tracked.sequence + 1;
  return { id, time, sequence, event, after: { ...tracked, sequence } };
}

function periodEventId({ machineId }: TrackedMachine, identity: EventIdentity): string {
  return stateChangeId(machineId, identity.startTime, identity.state, identity.revision);
}

/** Found again after a crash, the same loss or return is the machine's same event in the same place. */
function observationEventId(tracked: TrackedMachine, observation: string): string {
  const { machineId, sequence } = tracked;
  const parts = [machineId, observation, currentPeriod(tracked)?.startTime ?? null, sequence + 1];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
