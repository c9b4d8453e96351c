import type { MachineState } from '#libs/contracts';

/** One machine the token may see (interface: "Machine info entry"). */
export interface MachineInfo {
  machineId: string;
  /** Plain text, whatever structure the service sent; the machine ID when it sent no name. */
  displayName: string;
  factoryId: string;
  /** Empty when the service sent none. */
  factoryName: string;
}

/** The state a machine is in (interface: "Machine state"); accurate to within 1 to 2 minutes. */
export interface MachineStateReading {
  state: MachineState;
  /** Whole minutes since the state began; jitters by a minute from one reading to the next. */
  durationInMinutes: number;
  /** Epoch seconds of the service's latest update. */
  lastUpdateTime: number;
}

/** One period of a machine's history (interface: "Activity log entry"). */
export interface ActivityLogEntry {
  /** Epoch seconds. */
  startTime: number;
  /** Epoch seconds, never before `startTime`. */
  endTime: number;
  state: MachineState;
}

/** Epoch seconds; at most 30 days apart, or the service answers 422. */
export interface ActivityLogQuery {
  machineId: string;
  startTime: number;
  endTime: number;
}

/** A reason that may be given for a machine's state (interface: "Classification reasons"). */
export interface ClassificationReason {
  /** Display name; the code when the service sent no name. */
  name: string;
  code: string;
}

/** Interface: "Classification setting". Times are epoch seconds; without `endTime` it is open-ended. */
export interface MachineClassification {
  machineId: string;
  startTime: number;
  endTime?: number;
  reasonId: string;
}

/** Interface: "Work order assignment"; replaces the list of the machine, in the order given. */
export interface WorkOrderListAssignment {
  machineId: string;
  workingOrders: readonly string[];
}
