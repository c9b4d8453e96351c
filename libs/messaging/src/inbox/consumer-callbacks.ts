import { type EachBatchPayload, type TopicPartition } from '../kafkajs.js';

/** Partitions by topic. */
export type Assignment = ReadonlyMap<string, readonly number[]>;

/** A fetch in which there was nothing for anybody: markers of transactions, what was aborted or compacted away. */
export interface EmptyFetch extends TopicPartition {
  highWatermark: string;
  /** Of what was in it; the first is null where all of that lies before what was asked for. */
  firstOffset: string | null;
  lastOffset: string;
}

export interface ConsumerCallbacks {
  onBatch: (payload: EachBatchPayload) => void;
  /** Instead of {@link onBatch}. */
  onEmptyFetch: (fetch: EmptyFetch) => void;
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
