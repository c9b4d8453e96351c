import { hash as digest } from 'node:crypto';

import type { OutcomeSource, OutcomeType } from './command-outcomes.js';
import type { MachineState } from './machine-state-events.js';

/**
 * `ce_id` of a state change: a hash of what it says, never of when it was polled, so that the same
 * change found twice carries the same id. 64 hexadecimal digits.
 */
export function stateChangeId(
  machineId: string,
  startTime: number,
  state: MachineState,
  revision: number,
): string {
  return hash([machineId, startTime, state, revision]);
}

/** `ce_id` of an outcome: the same message, machine and outcome give the same id after a crash. */
export function outcomeId(
  source: Pick<OutcomeSource, 'topic' | 'partition' | 'offset'>,
  machineId: string | null,
  type: OutcomeType,
): string {
  return hash([source.topic, source.partition, source.offset, machineId, type]);
}

/** JSON keeps the parts apart: plain concatenation would let ("a", "bc") and ("ab", "c") collide. */
function hash(parts: readonly (string | number | null)[]): string {
  return digest('sha256', JSON.stringify(parts));
}
