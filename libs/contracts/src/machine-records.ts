/** Interface, "States and transitions". */
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
  /** null for the machine's first observation. */
  previousState: MachineState | null;
  startTime: number;
  previousStartTime: number | null;
  /** When the bridge detected the change. */
  detectedAt: number;
  /** 0 in the first event of a period; grows with each correction, also of a withdrawn period. */
  revision: number;
  /** Whether the start was read from the activity log or computed from durationInMinutes. */
  startTimeSource: 'activityLog' | 'duration';
  /** End of the previous period, where the state between it and this period is unknown; else absent. */
  previousEndTime?: number;
  /** See {@link ObservationRestored}; on the first event after a gap that no other event reports. */
  historyTruncatedBefore?: number;
}

/** `machine.state.corrected.v1`: the service's activity log no longer agrees with a published period. */
export interface StateCorrected extends StateChanged {
  /** The `ce_id` of the event this one replaces. */
  corrects: string;
}

export const LOSS_REASONS = ['noData', 'stale', 'unreachable', 'forbidden', 'removed'] as const;
export type ObservationLossReason = (typeof LOSS_REASONS)[number];

/** `machine.observation.lost.v1`. A machine that is not observed is never reported as OFF. */
export interface ObservationLost {
  machineId: string;
  factoryId: string;
  reason: ObservationLossReason;
  /** Epoch seconds from which the machine's state is unknown. */
  since: number;
  detectedAt: number;
  lastState: MachineState | null;
}

/** `machine.observation.restored.v1`; the changes between `lostSince` and `restoredAt` follow it. */
export interface ObservationRestored {
  machineId: string;
  factoryId: string;
  lostSince: number;
  restoredAt: number;
  detectedAt: number;
  /** Epoch seconds. Changes before it are missing: the bridge does not read history that far back. */
  historyTruncatedBefore?: number;
}

/** An event's type with its data. */
export type StateEvent =
  | { type: typeof STATE_EVENT_TYPES.changed; data: StateChanged }
  | { type: typeof STATE_EVENT_TYPES.corrected; data: StateCorrected }
  | { type: typeof STATE_EVENT_TYPES.observationLost; data: ObservationLost }
  | { type: typeof STATE_EVENT_TYPES.observationRestored; data: ObservationRestored };

/** Value of `machine.states.v1`; state and times are null until the machine's first observation. */
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
  /** Epoch seconds: periods that began before it no longer change; null while every period may. */
  settledUntil: number | null;
}

/** Value of `machine.registry.v1`; a tombstone follows when the service no longer lists the machine. */
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
