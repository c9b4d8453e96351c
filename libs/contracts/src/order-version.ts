/**
 * A sender's own count of its messages. Seconds cannot order two changes of one second, nor a clock that is
 * set back; a count can, but only among messages counted by the same counter. Records and documents name it `fence`.
 */
export interface SourceSequence {
  /** Which counter, such as `SERIAL of S4HCLNT100`. */
  counter: string;
  /** Decimal digits, of any length. */
  value: string;
}

/** Distinguishes an older state of an order from a newer one. */
export interface OrderVersion {
  /** Epoch seconds. */
  changedAt: number;
  fence?: SourceSequence;
}

/** By the count where both have one of the same counter, else by `changedAt`; equals are not older. */
export function isOlderVersion(version: OrderVersion, than: OrderVersion): boolean {
  const [mine, other] = [version.fence, than.fence];
  if (mine === undefined || other?.counter !== mine.counter) {
    return version.changedAt < than.changedAt;
  }
  return isLess(withoutZeros(mine.value), withoutZeros(other.value));
}

/** Counters outgrow what a number holds exactly. */
function isLess(digits: string, than: string): boolean {
  return digits.length === than.length ? digits < than : digits.length < than.length;
}

function withoutZeros(digits: string): string {
  return digits.replace(/^0+/, '');
}
