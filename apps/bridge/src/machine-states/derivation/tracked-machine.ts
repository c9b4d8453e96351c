import { isDeepStrictEqual } from 'node:util';
import { type MachineInfo } from '#libs/cloud-client';
import {
  type MachineState,
  type MachineStateRecord,
  type ObservationLossReason,
  type StateChanged,
} from '#libs/contracts';

/** A state period that has been published. */
export interface PublishedPeriod {
  state: MachineState;
  /** Epoch seconds. */
  startTime: number;
  startTimeSource: StateChanged['startTimeSource'];
  revision: number;
  /** `ce_id` of the event. */
  eventId: string;
}

export type Observation = 'ok' | ObservationLossReason;

/** All that is remembered of a machine: enough to go on after a restart without a double or a gap. */
export interface TrackedMachine {
  version: 1;
  machineId: string;
  displayName: string;
  factoryId: string;
  factoryName: string;
  /** The latest published period; null until the machine was first observed. */
  current: PublishedPeriod | null;
  previous: { state: MachineState; startTime: number } | null;
  observation: Observation;
  /** Epoch seconds from which nothing is known; null while the machine is observed. */
  lostSince: number | null;
  /** Of the latest reading, in epoch seconds; not stored anew for its own sake. */
  lastUpdateTime: number | null;
  /** `ce_sequence` of the machine's latest event; 0 before the first. */
  sequence: number;
}

export function newlyTracked(info: MachineInfo): TrackedMachine {
  return {
    version: 1,
    ...namesOf(info),
    current: null,
    previous: null,
    observation: 'ok',
    lostSince: null,
    lastUpdateTime: null,
    sequence: 0,
  };
}

/** The machine as the directory describes it now. */
export function renamed(tracked: TrackedMachine, info: MachineInfo): TrackedMachine {
  return { ...tracked, ...namesOf(info) };
}

export function namesOf(machine: MachineInfo): MachineInfo {
  const { machineId, displayName, factoryId, factoryName } = machine;
  return { machineId, displayName, factoryId, factoryName };
}

/** Whether `next` must be stored: an update time alone is read again from the service. */
export function isWorthStoring(stored: TrackedMachine | undefined, next: TrackedMachine): boolean {
  if (stored === undefined) return true;
  return !isDeepStrictEqual({ ...stored, lastUpdateTime: next.lastUpdateTime }, next);
}

/** The value for `machine.states.v1`, or null (a tombstone) for a machine that is gone. */
export function stateRecord(tracked: TrackedMachine): MachineStateRecord | null {
  const { machineId, factoryId, displayName, current, observation } = tracked;
  if (observation === 'removed') return null;
  return {
    machineId,
    factoryId,
    displayName,
    state: current?.state ?? null,
    startTime: current?.startTime ?? null,
    observation,
    lastUpdateTime: tracked.lastUpdateTime,
    sequence: tracked.sequence,
  };
}
