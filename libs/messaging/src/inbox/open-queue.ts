import { type MessageHandler } from './inbound-message.js';
import { OwnedQueue } from './owned-queue.js';
import { type PartitionMessage } from './partition-message.js';
import { type PartitionProgress } from './partition-progress.js';
import { PartitionQueue, type Transactions } from './partition-queue.js';
import { type TransactionListener } from './partition-transactions.js';
import { QUEUE_LIMITS } from './queue-limits.js';

/** What the queues of all partitions have to do with. */
export interface QueueSurroundings {
  handle: MessageHandler;
  /** Sets a message aside that could not be handled. */
  setAside: (message: PartitionMessage) => void;
  /** Fetches from a partition again that had to be paused. */
  resume: (topic: string, partition: number) => void;
  /** Fetches a partition from that offset on. */
  seek: (topic: string, partition: number, offset: number) => void;
  /** Begins the transactions of a partition. */
  transactions: (
    topic: string,
    partition: number,
    progress: PartitionProgress,
    listener: TransactionListener,
  ) => Transactions;
}

/**
 * The queue of a partition.
 *
 * @param isAnotherLog its log has begun anew: what was committed is of the one before
 */
export function openQueue(
  topic: string,
  partition: number,
  surroundings: QueueSurroundings,
  isAnotherLog = false,
): OwnedQueue {
  const { handle, setAside, resume, seek, transactions } = surroundings;
  const onResume = (): void => {
    resume(topic, partition);
  };
  const queue = new PartitionQueue(handle, { ...QUEUE_LIMITS, onResume, setAside }, (progress) =>
    transactions(topic, partition, progress, {
      recalled: (left) => {
        if (!isAnotherLog) owned.recall(left);
      },
      committed: (offset) => {
        owned.log.committed(offset);
      },
    }),
  );
  const owned = new OwnedQueue(topic, partition, queue, (offset) => {
    seek(topic, partition, offset);
  });
  return owned;
}
