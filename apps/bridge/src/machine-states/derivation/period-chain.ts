import type { AlignedPeriod } from './align-periods.js';
import { isSamePeriod, type Period, type PublishedPeriod } from './published-period.js';

/** A period as it is now, and as it was published, if it was. */
export interface ChainedPeriod {
  published: PublishedPeriod | null;
  period: Period;
}

/**
 * The periods as they are to be published from now on, in order. As far as the log is settled it is the log
 * that counts; after that what was published stays, and what the log has in addition comes at the end.
 *
 * @param before the period before all aligned periods
 * @param settledTime epoch seconds up to which the log will not change any more
 */
export function periodChain(
  aligned: readonly AlignedPeriod[],
  before: Period | null,
  settledTime: number,
): ChainedPeriod[] {
  const newsAt = aligned.findLastIndex(({ published }) => published !== null) + 1;
  const agreedUntil = whereLogEnds(aligned, newsAt, before, settledTime);
  const agreed = asLogged(aligned.slice(0, agreedUntil), before);
  const kept = aligned
    .slice(agreedUntil, newsAt)
    .flatMap(({ published }) => (published === null ? [] : [{ published, period: published }]));
  const news = aligned
    .slice(newsAt)
    .flatMap(({ logged }) => (logged === null ? [] : [asUnpublished(logged)]));
  return [...agreed, ...kept, ...news];
}

/**
 * How many of the aligned periods the log decides about: all that touch its settled part, and as many more as it
 * takes to keep the periods in order, for a start estimated too late may not be before what follows it.
 */
function whereLogEnds(
  aligned: readonly AlignedPeriod[],
  newsAt: number,
  before: Period | null,
  settledTime: number,
): number {
  const news = aligned[newsAt]?.logged ?? null;
  const latest = aligned[newsAt - 1]?.published ?? null;
  if (news !== null && latest !== null && latest.startTime >= news.startTime) return newsAt;
  const settled = aligned.findLastIndex((it, at) => at < newsAt && startOf(it) <= settledTime);
  let end = settled + 1;
  let latestStart = latestLogged(aligned.slice(0, end), before?.startTime ?? -Infinity);
  for (const [at, { published }] of aligned.slice(0, newsAt).entries()) {
    if (at < end || published === null) continue;
    if (published.startTime > latestStart) break;
    latestStart = latestLogged(aligned.slice(end, at + 1), latestStart);
    end = at + 1;
  }
  return end;
}

function latestLogged(aligned: readonly AlignedPeriod[], before: number): number {
  return aligned.reduce(
    (latest, { logged }) => Math.max(latest, logged?.startTime ?? latest),
    before,
  );
}

/** A start is decided about once it is settled either as it was published or as the log has it. */
function startOf({ published, logged }: AlignedPeriod): number {
  return Math.min(published?.startTime ?? Infinity, logged?.startTime ?? Infinity);
}

/** A surplus period becomes the same as the one before it, and lasts no time between that and the next. */
function asLogged(aligned: readonly AlignedPeriod[], before: Period | null): ChainedPeriod[] {
  const links: ChainedPeriod[] = [];
  const nextStarts = startsAfter(aligned);
  let latest = before;
  for (const [at, { published, logged }] of aligned.entries()) {
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
function startsAfter(aligned: readonly AlignedPeriod[]): number[] {
  let start = Infinity;
  return aligned
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

export function asUnpublished(period: Period): ChainedPeriod {
  return { published: null, period };
}
