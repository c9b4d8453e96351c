import { setTimeout as delay } from 'node:timers/promises';
import { SetupError } from '../setup/command.mjs';
import { countRecords } from './kafka/topics.mjs';

const STALLED_AFTER_MS = 60_000;

/**
 * Waits until `count()` is `expected`, asking every `pollMs` milliseconds.
 *
 * @throws SetupError when the app ends, or nothing is added for a minute
 */
export async function untilCount(app, count, expected, pollMs = 50) {
  let progress = { done: -1, atMs: 0 };
  for (;;) {
    const done = await count();
    if (done >= expected) return;
    if (done !== progress.done) progress = { done, atMs: performance.now() };
    const end = await Promise.race([app.ended, delay(pollMs)]);
    if (end !== undefined) throw new SetupError(end);
    if (performance.now() - progress.atMs > STALLED_AFTER_MS)
      throw new SetupError(`stalled: ${done} of ${expected}; see ${app.log}`);
  }
}

/** Outcomes there are, of whatever kind; by offsets, so that counting costs the broker next to nothing. */
export function outcomeCount({ admin, outcomes }) {
  return () => countRecords(admin, outcomes);
}

/** Waits until no outcome has come for half a second. */
export async function untilQuiet(trial) {
  for (let before = -1; ; await delay(500)) {
    const now = await outcomeCount(trial)();
    if (now === before) return;
    before = now;
  }
}
