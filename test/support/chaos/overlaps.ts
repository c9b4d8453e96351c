import type { LoggedCall } from '../sandbox-control.js';
import { inBrief } from './in-brief.js';

/**
 * Pairs of calls for one machine and operation that overlapped, as text. A call ends when its answer leaves or its
 * caller disconnects; a call that never ended overlaps with all later ones.
 */
export function overlaps(calls: readonly LoggedCall[]): string[] {
  const latest = new Map<string, LoggedCall>();
  const faults: string[] = [];
  for (const call of [...calls].sort((a, b) => a.startedAtMs - b.startedAtMs)) {
    for (const machineId of call.machineIds) {
      const key = `${call.operation} of ${machineId}`;
      const before = latest.get(key);
      if (before !== undefined && call.startedAtMs < endOf(before)) {
        faults.push(`${key}: call ${call.sequence} began before ${before.sequence} had ended`);
      }
      if (before === undefined || endOf(call) > endOf(before)) latest.set(key, call);
    }
  }
  return inBrief(faults);
}

function endOf({ endedAtMs }: LoggedCall): number {
  return endedAtMs ?? Infinity;
}
