import type { ChainedPeriod } from './period-chain.js';
import type { EventIdentity, Period, PublishedPeriod } from './published-period.js';
import {
  type Detection,
  type SequencedEvent,
  stateChanged,
  stateCorrected,
} from './sequenced-event.js';
import { type TrackedMachine, withPeriods } from './tracked-machine.js';

/** What an event says of a period and the one before it, but for the revision. */
type PeriodContent = Omit<PublishedPeriod, 'revision'>;

/**
 * The events that bring what was published into line with the chain, in its order. What is remembered
 * after each of them is enough to go on with the rest of them.
 *
 * @param before the published period before the chain, which stays as it is
 * @param nextDetection called once for each event
 * @param most how many periods to remember
 */
export function publishChain(
  tracked: TrackedMachine,
  before: PublishedPeriod | null,
  chain: readonly ChainedPeriod[],
  nextDetection: () => Detection,
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
    const event =
      published === null
        ? stateChanged(after, latest, nextDetection())
        : stateCorrected(after, latest, published, nextDetection());
    events.push(event);
    next = event.after;
  }
  return events;
}

function contentOf(period: Period, previous: PublishedPeriod | null): PeriodContent {
  const { state, startTime, startTimeSource, previousEndTime } = period;
  const isApart =
    previous !== null && previousEndTime !== null && previousEndTime >= previous.startTime;
  return {
    state,
    startTime,
    startTimeSource,
    previousEndTime: isApart ? previousEndTime : null,
    previousState: previous?.state ?? null,
    previousStartTime: previous?.startTime ?? null,
  };
}

/** Where a start was read is not worth a correction. */
function hasContent(published: PublishedPeriod, content: PeriodContent): boolean {
  return (
    published.state === content.state &&
    published.startTime === content.startTime &&
    published.previousState === content.previousState &&
    published.previousStartTime === content.previousStartTime &&
    published.previousEndTime === content.previousEndTime
  );
}

/** One more than before; the id of an event is made of state, start and revision, and must be new. */
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
