/** The page's only clock, and the plant's time by it. */
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

/** `readAtMs`: when it was received, by the device's clock as it is set now. */
export const plantClock = signal<(Session['clock'] & { readAtMs: number }) | null>(null);

/** How far the device's clock has jumped ahead since then: by sleep, or because it was set. */
let aheadMs = 0;

/** Sets the plant's time as just received from the server. */
export function setPlantClock(clock: Session['clock']): void {
  aheadMs = 0;
  plantClock.value = { ...clock, readAtMs: nowMs() };
  tick.value = nowMs();
}

/** The plant's time at a real time, epoch seconds; real time before any server was heard. */
export function plantSeconds(realMs = nowMs()): number {
  const { epochSeconds, speed, readAtMs } = plantClock.value ?? REAL_TIME;
  return Math.floor(epochSeconds + ((realMs - readAtMs) / 1000) * speed);
}
const REAL_TIME = { epochSeconds: 0, speed: 1, readAtMs: 0 };

export const plantNow = computed(() => plantSeconds(tick.value));

export const plantMinute = computed(() => Math.floor(plantNow.value / 60) * 60);

/** Calls back when the device has slept or its clock was set: the plant's time may be wrong. */
export function onClockJump(jumped: () => void): void {
  const offset = (): number => nowMs() - performance.now();
  let offsetMs = offset();
  tick.subscribe(() => {
    const jumpMs = offset() - offsetMs;
    if (Math.abs(jumpMs) < JUMP_MS) return;
    offsetMs += jumpMs;
    const known = plantClock.peek();
    // Sleep never sets a clock back: only the device's clock was set, and the plant's time continues, also without a
    // server. The part that undoes an earlier jump ahead needs no correction.
    const backMs = Math.min(0, aheadMs + jumpMs);
    aheadMs = Math.max(0, aheadMs + jumpMs);
    if (backMs < 0 && known) plantClock.value = { ...known, readAtMs: known.readAtMs + backMs };
    jumped();
  });
}
