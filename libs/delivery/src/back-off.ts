export interface BackOffOptions {
  baseMs: number;
  capMs: number;
}

/** Full jitter: anywhere from 0 to the capped exponential, so that what failed together does not return together. */
export function backOffMs(attempt: number, options: BackOffOptions, random = Math.random): number {
  const ceiling = Math.min(options.capMs, options.baseMs * 2 ** Math.min(attempt - 1, 30));
  return Math.round(random() * ceiling);
}
