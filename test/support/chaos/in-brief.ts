const MOST_SHOWN = 10;

/** Keeps what a failed test prints readable: the first few of thousands say enough. */
export function inBrief(faults: readonly string[]): string[] {
  const more = faults.length - MOST_SHOWN;
  return more > 0 ? [...faults.slice(0, MOST_SHOWN), `and ${more} more`] : [...faults];
}
