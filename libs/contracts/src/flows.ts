/** The parts of the bridge's work that `BRIDGE_FLOWS` switches. */
export const FLOWS = ['work-orders', 'downtime-reasons', 'machine-states'] as const;
export type Flow = (typeof FLOWS)[number];

/** A flow in one process of the group. */
export interface FlowShare {
  state: 'running' | 'paused' | 'pausedByHand';
  /** Why it is paused; null while it runs. */
  why: string | null;
  /** Epoch seconds; null while it runs. */
  since: number | null;
  /** Commands that wait for a call; in `machine-states`, machines whose poll waits for the service to answer. */
  waiting: number;
  oldestWaitingSeconds: number;
  /** The latest call that failed; `at` in epoch seconds. Null before the first. */
  lastError: { why: string; at: number } | null;
  /** Partitions of the flow that the process owns, by topic without the prefix. */
  partitions: Record<string, number[]>;
}

/** A flow in the whole group: an item of `GET /api/flows`. */
export interface GroupFlow {
  name: Flow;
  state: FlowShare['state'];
  why: string | null;
  /** Epoch seconds; null while it runs. */
  since: number | null;
  /** Who paused the flow by hand; null where nobody did. */
  by: string | null;
  /** Messages that are not final; null where the flow has no input, or Kafka does not answer in time. */
  lag: number | null;
  waiting: number;
  oldestWaitingSeconds: number;
  lastError: FlowShare['lastError'];
  processes: ({ process: string } & FlowShare)[];
}

/** A flow of the group that was paused or resumed: the answer of `POST /api/flows/:name/pause` and `/resume`. */
export interface ControlledFlow {
  name: Flow;
  state: 'pausedByHand' | 'resumed';
  why: string | null;
  by: string | null;
  /** Epoch seconds; null where the flow is not paused. */
  since: number | null;
  /** The earlier pause, which this one replaces or ends; null where the flow was not paused by hand. */
  before: { why: string | null; by: string | null; since: number } | null;
}
