import type { MachineInfo } from '#libs/cloud-client';
import type { MachineStateRecord } from '#libs/contracts';
import type { RecentOutcome } from '../delivery/index.js';
import type { UnmappedWorkCentre } from '../equipment/index.js';
import type { AppliedList } from '../work-orders/index.js';

/**
 * The answers of the read API, built field by field: what the rooms hand over may hold more than its
 * type says, and none of that is anybody's business outside.
 */
export interface MachineSummary extends MachineInfo {
  /** Null while this process does not know it: another one may own the machine. */
  state: MachineStateRecord | null;
}

export interface MachineDetails extends MachineSummary {
  /** As this process last set it; `appliedAt` in epoch seconds. */
  workOrderList: AppliedList | null;
  /** Newest first. */
  lastOutcomes: readonly RecentOutcome[];
}

export interface KnownOfMachine {
  state: MachineStateRecord | undefined;
  list: AppliedList | undefined;
  outcomes: readonly RecentOutcome[];
}

export function machineSummary(
  { machineId, displayName, factoryId, factoryName }: MachineInfo,
  state: MachineStateRecord | undefined,
): MachineSummary {
  return { machineId, displayName, factoryId, factoryName, state: state ? stateView(state) : null };
}

/**
 * Undefined when nothing is known of the machine.
 *
 * @param listed as the service lists it; where the token may not read machines, it lists none
 */
export function machineDetails(
  machineId: string,
  listed: MachineInfo | undefined,
  known: KnownOfMachine,
): MachineDetails | undefined {
  const { state, list, outcomes } = known;
  const isKnown = listed ?? state ?? list ?? outcomes[0];
  if (isKnown === undefined) return undefined;
  return {
    ...machineSummary(listed ?? unlisted(machineId, state), state),
    workOrderList: list ? listView(list) : null,
    lastOutcomes: outcomes.map(outcomeView),
  };
}

function unlisted(machineId: string, state: MachineStateRecord | undefined): MachineInfo {
  const { displayName = machineId, factoryId = '' } = state ?? {};
  return { machineId, displayName, factoryId, factoryName: '' };
}

export function unmappedView(place: UnmappedWorkCentre): UnmappedWorkCentre {
  const { plant, workCentre, operations, orderIds, firstSeenAt, lastSeenAt } = place;
  return { plant, workCentre, operations, orderIds, firstSeenAt, lastSeenAt };
}

function stateView(record: MachineStateRecord): MachineStateRecord {
  const { machineId, factoryId, displayName, state, startTime } = record;
  const { observation, lastUpdateTime, sequence, settledUntil } = record;
  const where = { machineId, factoryId, displayName };
  return { ...where, state, startTime, observation, lastUpdateTime, sequence, settledUntil };
}

function listView({ workingOrders, appliedAt }: AppliedList): AppliedList {
  return { workingOrders, appliedAt };
}

function outcomeView(outcome: RecentOutcome): RecentOutcome {
  const { type, machineId, orderId, code, detail, attempts, appliedAt } = outcome;
  const { topic, partition, offset, messageId, sender } = outcome.source;
  const source = { topic, partition, offset, messageId, sender };
  return { type, machineId, orderId, source, code, detail, attempts, appliedAt };
}
