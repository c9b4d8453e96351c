import { minutesApart, type Period, type PublishedPeriod } from './published-period.js';

/** A published period and what it is in the log; without one or the other it is surplus or missed. */
export type AlignedPeriod =
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
  /** The log may just not be there yet. */
  notLogged: 2,
  /** A surplus period becomes the same as the one before it, so there should be one. */
  nothingBefore: 100,
};

const SAME_PERIOD_MINUTES = 9;

interface Log {
  periods: readonly Period[];
  /** Its end, in epoch seconds. */
  until: number;
}

/**
 * Pairs what was published with what the log has, both in order, so that least must be corrected. Pairs
 * are in order as well.
 *
 * @param before the period before both, which is not in question
 */
export function alignPeriods(
  published: readonly PublishedPeriod[],
  log: Log,
  before: Period | null,
): AlignedPeriod[] {
  const logged = log.periods;
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
  return aligned;
}

/** The least it costs to bring `published` from i on and `logged` from j on together, for all i and j. */
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

/** Of a published period that comes after so many of the logged ones and is none of them. */
type SurplusCost = (published: PublishedPeriod, after: number) => number;

function surplusCosts({ periods, until }: Log, before: Period | null): SurplusCost {
  return (published, after) => {
    const previous = periods[after - 1] ?? before;
    if (previous === null) return COST.nothingBefore;
    // It has been corrected already.
    if (published.state === previous.state && published.startTime === previous.startTime) return 0;
    return published.startTime >= until ? COST.notLogged : COST.surplus;
  };
}
