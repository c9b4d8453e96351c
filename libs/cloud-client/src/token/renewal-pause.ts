const LONGEST_PAUSE_MS = 60_000;
/** The first pause; credentials that were refused seldom become right in a second. */
const FIRST_PAUSE_MS = { unavailable: 1000, refused: 5000 };

/**
 * Real milliseconds to leave the login alone after it has failed `failures` times in a row: doubling,
 * capped, and somewhat random so that several bridges do not come back together.
 */
export function renewalPauseMs(
  failures: number,
  kind: keyof typeof FIRST_PAUSE_MS,
  random: () => number = Math.random,
): number {
  const pauseMs = Math.min(
    FIRST_PAUSE_MS[kind] * 2 ** Math.min(failures - 1, 30),
    LONGEST_PAUSE_MS,
  );
  return Math.round(pauseMs * (0.5 + random() / 2));
}
