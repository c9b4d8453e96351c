/** Interface: States and transitions. */
export const MACHINE_STATES = ['OPERATING', 'IDLE', 'OFF'] as const;

export type MachineState = (typeof MACHINE_STATES)[number];

/** `ce_type` values on `machine.state-changes.v1`. */
export const STATE_EVENT_TYPES = {
  changed: 'machine.state.changed.v1',
  corrected: 'machine.state.corrected.v1',
  observationLost: 'machine.observation.lost.v1',
  observationRestored: 'machine.observation.restored.v1',
} as const;

export type StateEventType = (typeof STATE_EVENT_TYPES)[keyof typeof STATE_EVENT_TYPES];

/** `machine.state.changed.v1`: a state period began. All times are epoch seconds. */
export interface StateChanged {
  machineId: string;
  factoryId: string;
  state: MachineState;
  /** null for the first observation ever made of the machine. */
  previousState: MachineState | null;
  startTime: number;
  previousStartTime: number | null;
  /** When the bridge noticed it. */
  detectedAt: number;
  /** 0 for the first publication of a period; more if the same was published and withdrawn before. */
  revision: number;
  /** Whether the start was read from the activity log or reckoned from durationInMinutes. */
  startTimeSource: 'activityLog' | 'duration';
  /** Where the previous period ended, if nothing is known of the time between it and this one; else left out. */
  previousEndTime?: number;
  /** See {@link ObservationRestored}; on the first event after a gap that no other event reports. */
  historyTruncatedBefore?: number;
}

/** `machine.state.corrected.v1`: the service's log came to disagree with a period already published. */
export interface StateCorrected extends StateChanged {
  /** The `ce_id` of the event this one replaces. */
  corrects: string;
}

export type ObservationLossReason = 'noData' | 'stale' | 'unreachable' | 'forbidden' | 'removed';

/** `machine.observation.lost.v1`. Losing sight of a machine is never reported as the state OFF. */
export interface ObservationLost {
  machineId: string;
  factoryId: string;
  reason: ObservationLossReason;
  /** Epoch seconds from which nothing is known. */
  since: number;
  detectedAt: number;
  lastState: MachineState | null;
}

/** `machine.observation.restored.v1`; the changes missed in between follow it. */
export interface ObservationRestored {
  machineId: string;
  factoryId: string;
  lostSince: number;
  restoredAt: number;
  detectedAt: number;
  /** Epoch seconds before which history was not read, for it is too long ago; what fell there is missing. */
  historyTruncatedBefore?: number;
}

/** An event with the data that belongs to its type. */
export type StateEvent =
  | { type: typeof STATE_EVENT_TYPES.changed; data: StateChanged }
  | { type: typeof STATE_EVENT_TYPES.corrected; data: StateCorrected }
  | { type: typeof STATE_EVENT_TYPES.observationLost; data: ObservationLost }
  | { type: typeof STATE_EVENT_TYPES.observationRestored; data: ObservationRestored };

/** Value of `machine.states.v1`; state and times are null until the machine was first observed. */
export interface MachineStateRecord {
  machineId: string;
  factoryId: string;
  displayName: string;
  state: MachineState | null;
  startTime: number | null;
  observation: 'ok' | Exclude<ObservationLossReason, 'removed'>;
  lastUpdateTime: number | null;
  /** `ce_sequence` of the machine's latest event; 0 before the first. */
  sequence: number;
  /** Epoch seconds: what began before does not change any more; null while anything still may. */
  settledUntil: number | null;
}

/** Value of `machine.registry.v1`; a machine that is gone is a tombstone. */
export interface MachineRegistryRecord {
  machineId: string;
  displayName: string;
  factoryId: string;
  factoryName: string;
}

/** Value of `machine.classification-reasons.v1`. */
export interface ClassificationReasonsRecord {
  machineId: string;
  reasons: { name: string; code: string }[];
  /** Epoch seconds. */
  updatedAt: number;
}
