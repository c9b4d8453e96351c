import { type EachBatchPayload } from 'kafkajs';

/** Partitions by topic. */
export type Assignment = ReadonlyMap<string, readonly number[]>;

export interface ConsumerCallbacks {
  onBatch: (payload: EachBatchPayload) => void;
  /** The partitions this process owns from now on, after each rebalance; empty once it is out of the group. */
  onAssigned: (assignment: Assignment) => void;
}

export type ConsumerState = 'starting' | 'running' | 'broken' | 'stopped';
