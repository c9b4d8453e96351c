import { type CommandResult } from './command-result.js';

const WEIGHT = { superseded: 0, applied: 1, rejected: 2 } as const;

/**
 * A document of several orders may settle a machine more than once, and a machine has one final outcome
 * per message: of its results a rejection counts before a list applied, and that before a superseded one.
 */
export function outcomePerMachine(results: readonly CommandResult[]): readonly CommandResult[] {
  if (results.length < 2) return results;
  const perMachine = new Map<string | null, CommandResult>();
  for (const result of results) {
    const other = perMachine.get(result.machineId);
    if (other === undefined || WEIGHT[result.kind] > WEIGHT[other.kind]) {
      perMachine.set(result.machineId, result);
    }
  }
  return [...perMachine.values()];
}
