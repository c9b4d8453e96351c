import type { MachineInfo } from '#libs/cloud-client';
import type { MachineStateRecord } from '#libs/contracts';
import type { RecentOutcome } from '../delivery/index.js';
import type { AppliedList } from '../work-orders/index.js';

/** The answers of the read API about machines. */
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
  return { machineId, displayName, factoryId, factoryName, state: state ?? null };
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
    workOrderList: list ?? null,
    lastOutcomes: outcomes,
  };
}

function unlisted(machineId: string, state: MachineStateRecord | undefined): MachineInfo {
  const { displayName = machineId, factoryId = '' } = state ?? {};
  return { machineId, displayName, factoryId, factoryName: '' };
}
