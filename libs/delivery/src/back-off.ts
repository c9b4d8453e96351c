export interface BackOffOptions {
  baseMs: number;
  capMs: number;
}

/** Full jitter: random from 0 to the capped exponential, so that calls that failed together are not repeated so. */
export function backOffMs(attempt: number, options: BackOffOptions, random = Math.random): number {
  const ceiling = Math.min(options.capMs, options.baseMs * 2 ** Math.min(attempt - 1, 30));
  return Math.round(random() * ceiling);
}
