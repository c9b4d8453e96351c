import { type Clock } from '#libs/clock';
import { type ConcurrencyLimit, type ServiceAnswer } from '#libs/delivery';
import { type FlowStatus } from '../command-delivery/index.js';

/** A machine's list as it goes into a request. */
export interface ListAssignment {
  machineId: string;
  workingOrders: readonly string[];
}

export interface ListCallsOptions {
  limit: ConcurrencyLimit;
  status: FlowStatus;
  clock: Clock;
  call: (assignments: readonly ListAssignment[]) => Promise<ServiceAnswer>;
  /** When the list the service took last was issued, where its sender said so. */
  issuedAtApplied: (machineId: string) => number | undefined;
  onApplied: (assignment: ListAssignment, issuedAt: number | undefined) => void;
}
