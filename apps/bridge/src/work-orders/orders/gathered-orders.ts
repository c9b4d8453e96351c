import { type CommandResult } from '../../command-delivery/index.js';
import { rejectUnmapped, type UnmappedOperation } from './reject-unmapped.js';
import {
  answerWithoutMachine,
  type AnswerWithoutMachine,
  type OrderStanding,
} from './without-machine.js';

/** What the orders of a message have come to, or of a part of it. */
export interface GatheredOrders {
  /** Machines on which they change something. */
  machineIds: readonly string[];
  /** What is known of them without a call. */
  results: readonly CommandResult[];
  /** Operations that have no machine. */
  unmapped: readonly UnmappedOperation[];
  standings: readonly OrderStanding[];
}

/** What is to be said of a message, now that all its orders are taken in. */
export interface MessageAnswer {
  results: readonly CommandResult[];
  /** All there is to say of it where it concerns no machine: then there is nothing else. */
  withoutMachine: AnswerWithoutMachine | undefined;
}

/** A machine is answered once a message: where an order of it is superseded and another one is not, by that. */
export function answerOf({
  machineIds,
  results,
  unmapped,
  standings,
}: GatheredOrders): MessageAnswer {
  const answered = results.filter(
    ({ kind, machineId }) =>
      kind !== 'superseded' || machineId === null || !machineIds.includes(machineId),
  );
  const all = [...answered, ...rejectUnmapped(unmapped)];
  const isSilent = machineIds.length === 0 && all.length === 0;
  return { results: all, withoutMachine: isSilent ? answerWithoutMachine(standings) : undefined };
}

/** What the parts of a message have come to together. */
export function joined(parts: readonly GatheredOrders[]): GatheredOrders {
  return {
    machineIds: [...new Set(parts.flatMap(({ machineIds }) => machineIds))],
    results: parts.flatMap(({ results }) => results),
    unmapped: parts.flatMap(({ unmapped }) => unmapped),
    standings: parts.flatMap(({ standings }) => standings),
  };
}
