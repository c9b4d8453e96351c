import type { LoggedCall } from '../sandbox-control.js';
import { type CommandKind, commandsOf } from './commands.js';

/** A command that the service carried out. */
export interface Delivery {
  number: number;
  /** Sequence number of the call. */
  call: number;
  /** The process that made the call, as the number of takeovers that had begun before it. */
  life: number;
}

/** The commands carried out for each machine, in that order. */
export type Deliveries = ReadonlyMap<string, readonly Delivery[]>;

/**
 * Reads the log of calls. `takeovers` are the sequence numbers of the last call before each event after which another
 * process may deliver again, in ascending order.
 */
export function deliveriesOf(
  kind: CommandKind,
  calls: readonly LoggedCall[],
  takeovers: readonly number[] = [],
): Deliveries {
  const deliveries = new Map<string, Delivery[]>();
  for (const call of inOrderOfExecution(calls)) {
    const life = takeovers.filter((sequence) => sequence < call.sequence).length;
    for (const command of commandsOf(call)) {
      if (command.kind !== kind) continue;
      const ofMachine = deliveries.get(command.machineId) ?? [];
      ofMachine.push({ number: command.number, call: call.sequence, life });
      deliveries.set(command.machineId, ofMachine);
    }
  }
  return deliveries;
}

/** A later call may overtake an earlier one on its way: the order of effect counts. */
function inOrderOfExecution(calls: readonly LoggedCall[]): LoggedCall[] {
  return calls
    .filter(({ carriedOutAtMs }) => carriedOutAtMs !== null)
    .sort((a, b) => (a.carriedOutAtMs ?? 0) - (b.carriedOutAtMs ?? 0) || a.sequence - b.sequence);
}
