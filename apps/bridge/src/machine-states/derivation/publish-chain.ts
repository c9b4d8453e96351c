import type { Link } from './period-chain.js';
import type { EventIdentity, Period, PublishedPeriod } from './published-period.js';
import {
  type Detection,
  type SequencedEvent,
  stateChanged,
  stateCorrected,
} from './sequenced-event.js';
import { type TrackedMachine, withPeriods } from './tracked-machine.js';

/** What an event says of a period and the one before it, but for the revision. */
type Statement = Omit<PublishedPeriod, 'revision'>;

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
  chain: readonly Link[],
  nextDetection: () => Detection,
  most: number,
): SequencedEvent[] {
  const events: SequencedEvent[] = [];
  const notYetReached = chain.flatMap(({ published }) => (published === null ? [] : [published]));
  let upToHere = before === null ? [] : [before];
  let next = tracked;
  for (const { published, period } of chain) {
    const statement = statementOn(period, upToHere.at(-1) ?? null);
    const known = [...next.replaced, ...upToHere, ...notYetReached];
    if (published !== null) notYetReached.shift();
    const isPublished = published !== null && saysTheSame(published, statement);
    const latest = isPublished ? published : withRevision(statement, published, known);
    upToHere = [...upToHere, latest].slice(-most - 1);
    if (isPublished) continue;
    const after = withPeriods(next, [...upToHere, ...notYetReached], published, most);
    const event =
      published === null
        ? stateChanged(after, latest, nextDetection())
        : stateCorrected(after, latest, published, nextDetection());
    events.push(event);
    next = event.after;
  }
  return events;
}

function statementOn(period: Period, previous: PublishedPeriod | null): Statement {
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
function saysTheSame(published: PublishedPeriod, statement: Statement): boolean {
  return (
    published.state === statement.state &&
    published.startTime === statement.startTime &&
    published.previousState === statement.previousState &&
    published.previousStartTime === statement.previousStartTime &&
    published.previousEndTime === statement.previousEndTime
  );
}

/** One more than before; the id of an event is made of state, start and revision, and must be new. */
function withRevision(
  statement: Statement,
  published: PublishedPeriod | null,
  known: readonly EventIdentity[],
): PublishedPeriod {
  const revisions = known
    .filter((it) => it.state === statement.state && it.startTime === statement.startTime)
    .map(({ revision }) => revision);
  const latest = Math.max(published?.revision ?? -1, ...revisions);
  return { ...statement, revision: latest + 1 };
}
