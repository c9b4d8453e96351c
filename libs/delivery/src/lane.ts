/** One machine's entries that wait, oldest first, and what is known of its calls. */
export interface Lane<T> {
  readonly machineId: string;
  readonly waiting: T[];
  /** One entry at a time is out of the lane, on its way to the service. */
  inFlight: boolean;
  /** Real milliseconds before which nothing of it is sent. */
  notBeforeMs: number;
  /** How often in a row a batch with it went wrong: each time it may keep an eighth of the company. */
  suspicion: number;
}

export function emptyLane<T>(machineId: string): Lane<T> {
  return { machineId, waiting: [], inFlight: false, notBeforeMs: 0, suspicion: 0 };
}
