import { isUnseen } from './activity-log.js';
import type { Period, PublishedPeriod } from './tracked-machine.js';

/** A period to publish, and what it was published as; null if it is new. */
export interface ChainedPeriod {
  published: PublishedPeriod | null;
  period: Period;
}

export interface LoggedPeriods {
  periods: readonly Period[];
  /** End of the log, in epoch seconds. */
  until: number;
}

/**
 * Periods to publish, in order: those of the log up to `settledTime`, then the published ones unchanged, then periods
 * that only the log has.
 *
 * @param published periods that may be corrected, in order
 * @param log null when it says nothing about them
 * @param before the period before both, which is not corrected
 * @param settledTime epoch seconds up to which the log is final
 */
export function periodChain(
  published: readonly PublishedPeriod[],
  log: LoggedPeriods | null,
  before: Period | null,
  settledTime: number,
): ChainedPeriod[] {
  const aligned =
    log === null
      ? published.map((it) => ({ published: it, logged: null }))
      : alignPeriods(published, log, before);
  const newsAt = aligned.findLastIndex(({ published }) => published !== null) + 1;
  const agreedUntil = countAgreed(aligned, newsAt, before, settledTime);
  const agreed = asLogged(aligned, before).slice(0, agreedUntil);
  const kept: ChainedPeriod[] = aligned
    .slice(agreedUntil, newsAt)
    .flatMap(({ published }) => (published === null ? [] : [{ published, period: published }]));
  const [first] = kept;
  if (log !== null && first !== undefined && agreed.at(-1)?.published === null) {
    const next = aligned.slice(agreedUntil).find(({ logged }) => logged !== null)?.logged;
    const period = { ...first.period, previousEndTime: endBefore(first.period, next, log.until) };
    kept[0] = { ...first, period };
  }
  const news = aligned
    .slice(newsAt)
    .flatMap(({ logged }) => (logged === null ? [] : [{ published: null, period: logged }]));
  return [...agreed, ...kept, ...news];
}

/** End, by the log, of the new period before the published one; null if it lasted until the published start. */
function endBefore(
  { startTime }: Period,
  next: Period | null | undefined,
  loggedUntil: number,
): number | null {
  if (next == null) return isUnseen(loggedUntil, startTime) ? loggedUntil : null;
  const { previousEndTime } = next;
  return previousEndTime !== null && previousEndTime < startTime ? previousEndTime : null;
}

/**
 * Number of aligned periods that follow the log: those that touch its settled part, and as many more as keep the
 * starts in order, since a start that was estimated too late may not precede the next period.
 */
function countAgreed(
  aligned: readonly AlignedPeriod[],
  newsAt: number,
  before: Period | null,
  settledTime: number,
): number {
  const published = aligned.flatMap((it) => it.published ?? []);
  // After a crash between corrections, published periods may be out of order.
  const outOfOrder = published.findLast(
    ({ startTime }, at) => startTime < (published[at - 1]?.startTime ?? startTime),
  );
  const news = aligned[newsAt]?.logged ?? null;
  const latest = aligned[newsAt - 1]?.published ?? null;
  if (news !== null && latest !== null && latest.startTime >= news.startTime) return newsAt;
  const settled = aligned.findLastIndex(
    (it, at) => at < newsAt && (earlierStart(it) <= settledTime || it.published === outOfOrder),
  );
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

/** The earlier of both starts: the log decides once either of them is settled. */
function earlierStart({ published, logged }: AlignedPeriod): number {
  return Math.min(published?.startTime ?? Infinity, logged?.startTime ?? Infinity);
}

/** The aligned periods as logged. A surplus period gets the content of the one before it, and so books no time. */
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
      published.startTime > (latest?.startTime ?? -Infinity) &&
      published.startTime < (nextStarts[at] ?? Infinity);
    const period = isInOrder ? keepingPublishedStart(published, target) : target;
    links.push({ published, period });
    latest = period;
  }
  return links;
}

/** For each pair, the start of the next logged period; Infinity after the last. */
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

/** Keeps the published start if the difference is within a minute. */
function keepingPublishedStart(published: PublishedPeriod, target: Period): Period {
  if (!isSamePeriod(published, target)) return target;
  const { startTime, startTimeSource } = published;
  return { ...target, startTime, startTimeSource };
}

/** A published period paired with its logged one. Without `logged` it is surplus; without `published`, missed. */
type AlignedPeriod =
  { published: PublishedPeriod; logged: Period | null } | { published: null; logged: Period };

/** Costs of making both agree: about 10 for each event, 1 for each minute between two starts. */
const COST = {
  surplus: 10,
  missed: 10,
  /** A logged period after all published ones is news, not a correction. */
  news: 9,
  otherState: 8,
  /** Less than a surplus and a missed period, more than a surplus period and news. */
  otherPeriod: 19.5,
  /** The log may not have reached the period yet. */
  notLogged: 2,
  /** A surplus period gets the content of the one before it, so that there should be one. */
  nothingBefore: 100,
};

const SAME_PERIOD_MINUTES = 9;

/**
 * Logged periods compared for each published one; later ones are news. As news a period costs one less than as
 * missed, and all published ones at most this as surplus after the first. To compare 32 with 25,000 took 0.2 s of
 * CPU.
 */
const MOST_OF_LOG_PER_PERIOD = COST.surplus + COST.missed;

/** Pairs published with logged periods, both in order, at the least cost of corrections. */
function alignPeriods(
  published: readonly PublishedPeriod[],
  log: LoggedPeriods,
  before: Period | null,
): AlignedPeriod[] {
  const logged = log.periods.slice(0, MOST_OF_LOG_PER_PERIOD * published.length + 1);
  const surplusCost = surplusCosts(log, before);
  const costs = restCosts(published, logged, surplusCost);
  const aligned: AlignedPeriod[] = [];
  let [i, j] = [0, 0];
  while (i < published.length || j < logged.length) {
    const [mine, theirs] = [published[i], logged[j]];
    const rest = costs[i]?.[j] ?? 0;
    const costOf = (row: number, column: number): number => costs[row]?.[column] ?? Infinity;
    if (mine && theirs && rest === pairCost(mine, theirs) + costOf(i + 1, j + 1)) {
      aligned.push({ published: mine, logged: theirs });
      [i, j] = [i + 1, j + 1];
    } else if (mine && rest === surplusCost(mine, j) + costOf(i + 1, j)) {
      aligned.push({ published: mine, logged: null });
      i += 1;
    } else if (theirs) {
      aligned.push({ published: null, logged: theirs });
      j += 1;
    }
  }
  const news = log.periods.slice(logged.length);
  return [...aligned, ...news.map((it) => ({ published: null, logged: it }))];
}

/** Least cost of aligning `published` from i on with `logged` from j on, as `costs[i][j]`. */
function restCosts(
  published: readonly PublishedPeriod[],
  logged: readonly Period[],
  surplusCost: SurplusCost,
): number[][] {
  const costs = published.map((): number[] => []);
  costs.push(Array.from({ length: logged.length + 1 }, (_, j) => (logged.length - j) * COST.news));
  for (let i = published.length - 1; i >= 0; i -= 1) {
    const [row, below] = [costs[i] ?? [], costs[i + 1] ?? []];
    for (let j = logged.length; j >= 0; j -= 1) {
      const [mine, theirs] = [published[i], logged[j]];
      if (mine === undefined) continue;
      const surplus = surplusCost(mine, j) + (below[j] ?? Infinity);
      const paired = theirs ? pairCost(mine, theirs) + (below[j + 1] ?? Infinity) : Infinity;
      const missed = theirs ? COST.missed + (row[j + 1] ?? Infinity) : Infinity;
      row[j] = Math.min(surplus, paired, missed);
    }
  }
  return costs;
}

function pairCost(published: PublishedPeriod, logged: Period): number {
  const apart = minutesApart(published, logged);
  if (published.state === logged.state) {
    return apart <= SAME_PERIOD_MINUTES ? apart : COST.otherPeriod;
  }
  return apart === 0 ? COST.otherState : COST.otherPeriod;
}

/** Cost of a surplus published period after the first `after` logged ones. */
type SurplusCost = (published: PublishedPeriod, after: number) => number;

function surplusCosts({ periods, until }: LoggedPeriods, before: Period | null): SurplusCost {
  return (published, after) => {
    const previous = periods[after - 1] ?? before;
    if (previous === null) return COST.nothingBefore;
    // An earlier poll has corrected it.
    if (published.state === previous.state && published.startTime === previous.startTime) return 0;
    return published.startTime >= until ? COST.notLogged : COST.surplus;
  };
}

/** Starts that differ within a minute are the same: the service calculates by the minute. */
function isSamePeriod(a: Period, b: Period): boolean {
  return a.state === b.state && minuteOf(a.startTime) === minuteOf(b.startTime);
}

function minutesApart(a: Period, b: Period): number {
  return Math.abs(minuteOf(a.startTime) - minuteOf(b.startTime));
}

function minuteOf(time: number): number {
  return Math.floor(time / 60);
}
