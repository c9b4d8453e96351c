import { createHash } from 'node:crypto';

/**
 * A machine's place within the interval, 0 up to `intervalMs`: machines are spread evenly, and each
 * keeps its place from one process to the next.
 */
export function phaseMs(machineId: string, intervalMs: number): number {
  const share = createHash('sha256').update(machineId).digest().readUInt32BE(0) / 2 ** 32;
  return Math.floor(share * intervalMs);
}

/** The first moment of a machine's phase after `afterMs`, in the clock's epoch milliseconds. */
export function nextPollMs(phase: number, intervalMs: number, afterMs: number): number {
  const ticks = Math.floor((afterMs - phase) / intervalMs) + 1;
  return phase + ticks * intervalMs;
}
