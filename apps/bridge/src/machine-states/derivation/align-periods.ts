import {
  isSamePeriod,
  minutesApart,
  type Period,
  type PublishedPeriod,
} from './published-period.js';

/** A published period and what it is in the log; without one or the other it is surplus or missed. */
export type Pair =
  { published: PublishedPeriod; logged: Period | null } | { published: null; logged: Period };

/** In events: what it takes to make the two agree, and a minute of a start a little. */
const COST = {
  surplus: 10,
  missed: 10,
  /** What comes after all that is published is news, not a correction. */
  news: 9,
  otherState: 8,
  /** Rather this than one surplus and one missed, but not rather than one surplus and news. */
  otherPeriod: 19.5,
  /** A surplus period becomes the same as the one before it, so there should be one. */
  nothingBefore: 100,
};

const SAME_PERIOD_MINUTES = 9;

/**
 * Pairs what was published with what the log has, both in order, so that least must be corrected. Pairs
 * are in order as well.
 *
 * @param before the period before both, which is not in question
 */
export function alignPeriods(
  published: readonly PublishedPeriod[],
  logged: readonly Period[],
  before: Period | null,
): Pair[] {
  const costs = restCosts(published, logged, before);
  const pairs: Pair[] = [];
  let [i, j] = [0, 0];
  while (i < published.length || j < logged.length) {
    const [mine, theirs] = [published[i], logged[j]];
    const rest = costs[i]?.[j] ?? 0;
    const costOf = (row: number, column: number): number => costs[row]?.[column] ?? Infinity;
    if (mine && theirs && rest === pairCost(mine, theirs) + costOf(i + 1, j + 1)) {
      pairs.push({ published: mine, logged: theirs });
      [i, j] = [i + 1, j + 1];
    } else if (mine && rest === surplusCost(mine, logged[j - 1] ?? before) + costOf(i + 1, j)) {
      pairs.push({ published: mine, logged: null });
      i += 1;
    } else if (theirs) {
      pairs.push({ published: null, logged: theirs });
      j += 1;
    }
  }
  return pairs;
}

/** The least it costs to bring `published` from i on and `logged` from j on together, for all i and j. */
function restCosts(
  published: readonly PublishedPeriod[],
  logged: readonly Period[],
  before: Period | null,
): number[][] {
  const costs = published.map((): number[] => []);
  costs.push(Array.from({ length: logged.length + 1 }, (_, j) => (logged.length - j) * COST.news));
  for (let i = published.length - 1; i >= 0; i -= 1) {
    const [row, below] = [costs[i] ?? [], costs[i + 1] ?? []];
    for (let j = logged.length; j >= 0; j -= 1) {
      const [mine, theirs] = [published[i], logged[j]];
      if (mine === undefined) continue;
      const surplus = surplusCost(mine, logged[j - 1] ?? before) + (below[j] ?? Infinity);
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

/** Once it is corrected it says the same as the one before it, and costs nothing any more. */
function surplusCost(published: PublishedPeriod, before: Period | null): number {
  if (before === null) return COST.nothingBefore;
  return isSamePeriod(published, before) ? 0 : COST.surplus;
}
