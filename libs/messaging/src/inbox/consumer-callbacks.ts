import { type EachBatchPayload } from '../kafkajs.js';

/** Partitions by topic. */
export type Assignment = ReadonlyMap<string, readonly number[]>;

export interface ConsumerCallbacks {
  onBatch: (payload: EachBatchPayload) => void;
  /** The partitions this process owns from now on, after each rebalance; empty once it is out of the group. */
  onAssigned: (assignment: Assignment) => void;
  /**
   * Partitions may be about to go to another process: nothing new may begin for any of them until the
   * next {@link onAssigned}. Resolves once nothing is under way, after `deadlineMs` at the latest.
   */
  onRevoking: (deadlineMs: number) => Promise<void>;
  /** The group coordinator has confirmed this member. */
  onSign: () => void;
}

export type ConsumerState = 'starting' | 'running' | 'broken' | 'stopped';
