import { hash as digest } from 'node:crypto';

import type { OutcomeSource, OutcomeType } from './command-outcomes.js';
import type { MachineState } from './machine-state-events.js';
import { quoted } from './outcome-json.js';

/**
 * `ce_id` of a state change: a hash of what it says, never of when it was polled, so that the same
 * change found twice carries the same id. 64 hexadecimal digits. JSON keeps the parts apart: plain
 * concatenation would let ("a", "bc") and ("ab", "c") collide.
 */
export function stateChangeId(
  machineId: string,
  startTime: number,
  state: MachineState,
  revision: number,
): string {
  return digest('sha256', JSON.stringify([machineId, startTime, state, revision]));
}

/**
 * `ce_id` of an outcome: the same message, machine and outcome give the same id after a crash. A hash of the
 * JSON of a list, written by hand for the sake of every message.
 */
export function outcomeId(
  source: Pick<OutcomeSource, 'topic' | 'partition' | 'offset'>,
  machineId: string | null,
  type: OutcomeType,
): string {
  const { topic, partition, offset } = source;
  const place = `${quoted(topic)},${partition},${offset}`;
  return digest('sha256', `[${place},${quoted(machineId)},"${type}"]`);
}
