import type { Pair } from './align-periods.js';
import { isSamePeriod, type Period, type PublishedPeriod } from './published-period.js';

/** A period as it is now, and as it was published, if it was. */
export interface Link {
  published: PublishedPeriod | null;
  period: Period;
}

/**
 * The periods as they are to be published from now on, in order. As far as the log is settled it is the log
 * that counts; after that what was published stays, and what the log has in addition comes at the end.
 *
 * @param before the period before all pairs
 * @param settledTime epoch seconds up to which the log will not change any more
 */
export function periodChain(
  pairs: readonly Pair[],
  before: Period | null,
  settledTime: number,
): Link[] {
  const newsAt = pairs.findLastIndex(({ published }) => published !== null) + 1;
  const agreedUntil = whereLogEnds(pairs, newsAt, before, settledTime);
  const agreed = asLogged(pairs.slice(0, agreedUntil), before);
  const kept = pairs.slice(agreedUntil, newsAt).flatMap(({ published }) => asPublished(published));
  const news = pairs
    .slice(newsAt)
    .flatMap(({ logged }) => (logged === null ? [] : [asNews(logged)]));
  return [...agreed, ...kept, ...news];
}

/**
 * How many of the pairs the log decides about: all that touch its settled part, and as many more as it
 * takes to keep the periods in order, for a start reckoned too late may not be before what follows it.
 */
function whereLogEnds(
  pairs: readonly Pair[],
  newsAt: number,
  before: Period | null,
  settledTime: number,
): number {
  const news = pairs[newsAt]?.logged ?? null;
  const latest = pairs[newsAt - 1]?.published ?? null;
  if (news !== null && latest !== null && latest.startTime >= news.startTime) return newsAt;
  const settled = pairs.findLastIndex((it, at) => at < newsAt && startOf(it) <= settledTime);
  let end = settled + 1;
  let latestStart = latestLogged(pairs.slice(0, end), before?.startTime ?? -Infinity);
  for (const [at, { published }] of pairs.slice(0, newsAt).entries()) {
    if (at < end || published === null) continue;
    if (published.startTime > latestStart) break;
    latestStart = latestLogged(pairs.slice(end, at + 1), latestStart);
    end = at + 1;
  }
  return end;
}

function latestLogged(pairs: readonly Pair[], before: number): number {
  return pairs.reduce(
    (latest, { logged }) => Math.max(latest, logged?.startTime ?? latest),
    before,
  );
}

/** A start is decided about once it is settled either as it was published or as the log has it. */
function startOf({ published, logged }: Pair): number {
  return Math.min(published?.startTime ?? Infinity, logged?.startTime ?? Infinity);
}

/** A surplus period becomes the same as the one before it, and lasts no time between that and the next. */
function asLogged(pairs: readonly Pair[], before: Period | null): Link[] {
  const links: Link[] = [];
  const nextStarts = startsAfter(pairs);
  let latest = before;
  for (const [at, { published, logged }] of pairs.entries()) {
    const target = logged ?? (latest && { ...latest, previousEndTime: null }) ?? published;
    if (target === null) continue;
    const isInOrder =
      published !== null &&
      logged !== null &&
      published.startTime >= (latest?.startTime ?? -Infinity) &&
      published.startTime < (nextStarts[at] ?? Infinity);
    const period = isInOrder ? unlessTheSame(published, target) : target;
    links.push({ published, period });
    latest = period;
  }
  return links;
}

/** For each pair, when the next period in the log begins; Infinity after the last. */
function startsAfter(pairs: readonly Pair[]): number[] {
  let start = Infinity;
  return pairs
    .toReversed()
    .map(({ logged }) => {
      const next = start;
      if (logged !== null) start = logged.startTime;
      return next;
    })
    .toReversed();
}

/** Seconds within a minute are nothing to correct, as long as they keep the order. */
function unlessTheSame(published: PublishedPeriod, target: Period): Period {
  if (!isSamePeriod(published, target)) return target;
  const { startTime, startTimeSource } = published;
  return { ...target, startTime, startTimeSource };
}

function asPublished(published: PublishedPeriod | null): Link[] {
  return published === null ? [] : [{ published, period: published }];
}

export function asNews(period: Period): Link {
  return { published: null, period };
}
