const MOST_SHOWN = 10;

/** Keeps the output of a failed test readable: shows the first few of thousands of faults. */
export function inBrief(faults: readonly string[]): string[] {
  const more = faults.length - MOST_SHOWN;
  return more > 0 ? [...faults.slice(0, MOST_SHOWN), `and ${more} more`] : [...faults];
}
