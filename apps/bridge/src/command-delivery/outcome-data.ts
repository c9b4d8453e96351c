import {
  type CommandOutcome,
  MAX_OUTCOME_ORDERS,
  OUTCOME_TYPES,
  type OutcomeSource,
  type OutcomeType,
} from '#libs/contracts';
import { type InboundRecord } from '#libs/messaging';
import { type CommandResult } from './command-result.js';

export type CommandFamily = 'work-order-list' | 'downtime-reason';

/** The flow as settings, readiness and the other metrics name it. */
export const FLOW_OF: Record<CommandFamily, string> = {
  'work-order-list': 'work-orders',
  'downtime-reason': 'downtime-reasons',
};

export type Outcome = CommandResult['kind'] | 'deferred';

/** A key is there to find the outcome by: one of a megabyte would keep it from being sent at all. */
const LONGEST_KEY_BYTES = 4096;

/** The machine, or the key of a message that names none. */
export function keyOf(machineId: string | null, { key }: InboundRecord): Buffer | string | null {
  if (machineId !== null) return machineId;
  return key !== null && key.length <= LONGEST_KEY_BYTES ? key : null;
}

export function outcomeType(family: CommandFamily, outcome: Outcome): OutcomeType {
  // Every reason is a statement of its own: lists alone are superseded.
  if (outcome === 'superseded') return OUTCOME_TYPES.workOrderListSuperseded;
  return `${family}.${outcome}.v1`;
}

/** Written out: this runs for every message, and spreading objects costs as much as all the rest. */
export function toOutcome(result: CommandResult, source: OutcomeSource): CommandOutcome {
  const { machineId, attempts } = result;
  switch (result.kind) {
    case 'applied': {
      const { appliedAt, workingOrders } = result;
      const outcome = { machineId, source, code: null, detail: null, attempts, appliedAt };
      if (workingOrders === undefined) return outcome;
      const isLong = workingOrders.length > MAX_OUTCOME_ORDERS;
      const shown = isLong ? workingOrders.slice(0, MAX_OUTCOME_ORDERS) : workingOrders;
      return { ...outcome, workingOrders: shown };
    }
    case 'superseded': {
      const { detail } = result;
      return { machineId, source, code: null, detail, attempts, appliedAt: null };
    }
    case 'rejected': {
      const { code, detail } = result.rejection;
      return { machineId, source, code, detail, attempts, appliedAt: null };
    }
    default:
      return result satisfies never;
  }
}

export function toDeferral(
  machineId: string,
  source: OutcomeSource,
  attempts: number,
): CommandOutcome {
  const detail = 'waits for the service to take it';
  return { machineId, source, code: null, detail, attempts, appliedAt: null };
}
