import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LOCAL } from '../setup/command.mjs';

const FILE = join(LOCAL, 'demo-clock.json');
const NOTE_EVERY_MS = 1000;
/** The apps refuse a later clock: settings that once put the clock there must not keep all later runs from starting. */
const LATEST_SECONDS = 99_999_999_999;

/**
 * The CLOCK_ORIGIN (epoch seconds) with which an accelerated clock continues from the reading of the last run.
 *
 * An hour of demo is days of the plant's time, and Kafka keeps the events of those days. A clock that began again at
 * the real time would put the new events before the old ones.
 * now = origin + (real − origin) × speed gives origin = (speed × real − now) / (speed − 1).
 */
export function originToGoOn(
  speed,
  realSeconds = Math.floor(Date.now() / 1000),
  last = lastReading(),
) {
  if (last <= realSeconds || last > LATEST_SECONDS || speed <= 1) return realSeconds;
  return Math.floor((speed * realSeconds - last) / (speed - 1));
}

/** The clock that the apps have, from their environment. */
export function demoClock(env) {
  const speed = Number(env.CLOCK_SPEED ?? 1);
  const origin = Number(env.CLOCK_ORIGIN ?? 0);
  const readingAt = (realSeconds) => Math.floor(origin + (realSeconds - origin) * speed);
  return { nowSeconds: () => readingAt(Date.now() / 1000), readingAt };
}

/** Writes the clock's reading to a file once a second, so that it is known however the run ends. */
export function noteReadings(clock) {
  const note = () => {
    // as far as the clock may be at the next note
    const readingSeconds = clock.readingAt((Date.now() + 2 * NOTE_EVERY_MS) / 1000);
    writeFileSync(FILE, `${JSON.stringify({ readingSeconds })}\n`);
  };
  note();
  setInterval(note, NOTE_EVERY_MS);
}

function lastReading() {
  try {
    return Number(JSON.parse(readFileSync(FILE, 'utf8')).readingSeconds) || 0;
  } catch {
    return 0;
  }
}
