/** The only clock of the page, and the plant's time by it. */
import { computed, signal } from '@preact/signals';
import type { Session } from '../../../src/api/index.js';

const JUMP_MS = 2_000;

/** Real time, epoch milliseconds. */
export function nowMs(): number {
  return Date.now();
}

/** Real time, epoch milliseconds; moves on once a second. */
export const tick = signal(nowMs());
setInterval(() => {
  tick.value = nowMs();
}, 1000);

/** `readAtMs`: when the server said so, by the clock of the device as it is set now. */
export const plantClock = signal<(Session['clock'] & { readAtMs: number }) | null>(null);

/** How much the clock of the device has jumped ahead since: by sleep, or because it was set. */
let aheadMs = 0;

/** Takes the time that the server has just said. */
export function setPlantClock(clock: Session['clock']): void {
  aheadMs = 0;
  plantClock.value = { ...clock, readAtMs: nowMs() };
  tick.value = nowMs();
}

/** The plant's time at a real one, epoch seconds; real time as long as no server was heard. */
export function plantSeconds(realMs = nowMs()): number {
  const { epochSeconds, speed, readAtMs } = plantClock.value ?? REAL_TIME;
  return Math.floor(epochSeconds + ((realMs - readAtMs) / 1000) * speed);
}
const REAL_TIME = { epochSeconds: 0, speed: 1, readAtMs: 0 };

export const plantNow = computed(() => plantSeconds(tick.value));

export const plantMinute = computed(() => Math.floor(plantNow.value / 60) * 60);

/** Calls back when the device has slept or its clock was set, and the plant's time may not be known any more. */
export function onClockJump(jumped: () => void): void {
  const offset = (): number => nowMs() - performance.now();
  let offsetMs = offset();
  tick.subscribe(() => {
    const jumpMs = offset() - offsetMs;
    if (Math.abs(jumpMs) < JUMP_MS) return;
    offsetMs += jumpMs;
    const known = plantClock.peek();
    // No sleep sets a clock back: the plant's time goes on, also where no server can be asked for it. But it comes right
    // by itself where the clock had been set ahead before.
    const backMs = Math.min(0, aheadMs + jumpMs);
    aheadMs = Math.max(0, aheadMs + jumpMs);
    if (backMs < 0 && known) plantClock.value = { ...known, readAtMs: known.readAtMs + backMs };
    jumped();
  });
}
