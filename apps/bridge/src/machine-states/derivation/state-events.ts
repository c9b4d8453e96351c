import { createHash } from 'node:crypto';
import {
  type ObservationLossReason,
  STATE_EVENT_TYPES,
  type StateChanged,
  type StateEvent,
  stateChangeId,
} from '#libs/contracts';
import type { ChainedPeriod } from './period-chain.js';
import {
  currentPeriod,
  type EventIdentity,
  type Period,
  type PublishedPeriod,
  type TrackedMachine,
  withPeriods,
} from './tracked-machine.js';

/** An event with its CloudEvents attributes, and the tracked machine after its publication. */
export interface SequencedEvent {
  id: string;
  /** Start of the period or observation, not the time of detection; epoch seconds. */
  time: number;
  sequence: number;
  event: StateEvent;
  after: TrackedMachine;
}

/** Time of detection and, if history before it is missing, the earliest time that could be read; epoch seconds. */
export interface Detection {
  detectedAt: number;
  historyTruncatedBefore?: number;
}

/**
 * @param after tracked machine with the period, before its sequence grows
 * @param corrected identity of the event that this one corrects, if any
 */
function periodEvent(
  after: TrackedMachine,
  period: PublishedPeriod,
  corrected: EventIdentity | null,
  detection: Detection,
): SequencedEvent {
  const { changed, corrected: type } = STATE_EVENT_TYPES;
  const { machineId, factoryId } = after;
  const { state, previousState, startTime, previousStartTime, previousEndTime } = period;
  const { revision, startTimeSource } = period;
  const data: StateChanged = {
    ...{ machineId, factoryId, state, previousState, startTime, previousStartTime },
    ...(previousEndTime === null ? {} : { previousEndTime }),
    ...detection,
    ...{ revision, startTimeSource },
  };
  const event: StateEvent =
    corrected === null
      ? { type: changed, data }
      : { type, data: { ...data, corrects: periodEventId(after, corrected) } };
  return sequenced(after, { id: periodEventId(after, period), time: period.startTime }, event);
}

export function observationLost(
  tracked: TrackedMachine,
  reason: ObservationLossReason,
  detectedAt: number,
): SequencedEvent {
  const { machineId, factoryId } = tracked;
  const latest = currentPeriod(tracked);
  const known = tracked.lostSince ?? tracked.lastUpdateTime ?? detectedAt;
  // After a crash amid the events after an earlier loss, `lostSince` is of that loss, and later periods are known.
  const since = Math.max(known, Math.min(latest?.startTime ?? known, detectedAt));
  const lastState = latest?.state ?? null;
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
    { ...tracked, observation: 'ok', lostSince },
    { id: observationEventId(tracked, 'ok'), time: restoredAt },
    {
      type: STATE_EVENT_TYPES.observationRestored,
      data: { machineId, factoryId, lostSince, restoredAt, ...detection },
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

function periodEventId({ machineId }: TrackedMachine, identity: EventIdentity): string {
  return stateChangeId(machineId, identity.startTime, identity.state, identity.revision);
}

/** Id of an observation event, the same if the event is derived again after a crash. */
function observationEventId(tracked: TrackedMachine, observation: string): string {
  const { machineId, sequence } = tracked;
  const parts = [machineId, observation, currentPeriod(tracked)?.startTime ?? null, sequence + 1];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/** Content of an event about a period, without its revision. */
type PeriodContent = Omit<PublishedPeriod, 'revision'>;

/**
 * Events that bring the published periods into line with the chain, in its order. The rest of them can be derived
 * from the `after` of each.
 *
 * @param before the published period before the chain, which stays unchanged
 * @param detection of the first event; the others have its time alone
 * @param most maximum of periods to keep
 */
export function publishChain(
  tracked: TrackedMachine,
  before: PublishedPeriod | null,
  chain: readonly ChainedPeriod[],
  detection: Detection,
  most: number,
): SequencedEvent[] {
  const events: SequencedEvent[] = [];
  const notYetReached = chain.flatMap(({ published }) => (published === null ? [] : [published]));
  let publishedSoFar = before === null ? [] : [before];
  let next = tracked;
  for (const { published, period } of chain) {
    const content = contentOf(period, publishedSoFar.at(-1) ?? null);
    const known = [...next.replaced, ...publishedSoFar, ...notYetReached];
    if (published !== null) notYetReached.shift();
    const isPublished = published !== null && hasContent(published, content);
    const latest = isPublished ? published : withRevision(content, published, known);
    publishedSoFar = [...publishedSoFar, latest].slice(-most - 1);
    if (isPublished) continue;
    const after = withPeriods(next, [...publishedSoFar, ...notYetReached], published, most);
    const detected = events.length === 0 ? detection : { detectedAt: detection.detectedAt };
    const event = periodEvent(after, latest, published, detected);
    events.push(event);
    next = event.after;
  }
  return events;
}

function contentOf(period: Period, previous: PublishedPeriod | null): PeriodContent {
  const { state, startTime, startTimeSource, previousEndTime } = period;
  // The previous period may have been published later than its end in the log: then its length is unknown.
  const isApart = previous !== null && previousEndTime !== null;
  return {
    state,
    startTime,
    startTimeSource,
    previousEndTime: isApart ? Math.max(previousEndTime, previous.startTime) : null,
    previousState: previous?.state ?? null,
    previousStartTime: previous?.startTime ?? null,
  };
}

/** Compares all but `startTimeSource`, which is not worth a correction. */
function hasContent(published: PublishedPeriod, content: PeriodContent): boolean {
  return (
    published.state === content.state &&
    published.startTime === content.startTime &&
    published.previousState === content.previousState &&
    published.previousStartTime === content.previousStartTime &&
    published.previousEndTime === content.previousEndTime
  );
}

/** Adds the next revision. Machine, start, state and revision make the event's id, which must be new. */
function withRevision(
  content: PeriodContent,
  published: PublishedPeriod | null,
  known: readonly EventIdentity[],
): PublishedPeriod {
  const revisions = known
    .filter((it) => it.state === content.state && it.startTime === content.startTime)
    .map(({ revision }) => revision);
  const latest = Math.max(published?.revision ?? -1, ...revisions);
  return { ...content, revision: latest + 1 };
}
