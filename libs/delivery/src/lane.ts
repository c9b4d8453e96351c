import { ANY_COMPANY } from './company.js';

/** One machine's entries that wait, oldest first, and what is known of its calls. */
export interface Lane<T> {
  readonly machineId: string;
  readonly waiting: T[];
  /** One entry at a time is out of the lane, on its way to the service. */
  inFlight: boolean;
  /** Real milliseconds before which nothing of it is sent. */
  notBeforeMs: number;
  /** How many machines may share a batch with it, and how many shared its last one; itself included. */
  company: number;
  lastCompany: number;
}

export function emptyLane<T>(machineId: string): Lane<T> {
  const idle = { inFlight: false, notBeforeMs: 0, company: ANY_COMPANY, lastCompany: 1 };
  return { machineId, waiting: [], ...idle };
}
