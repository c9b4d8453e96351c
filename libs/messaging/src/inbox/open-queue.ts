import { type MessageHandler } from './inbound-message.js';
import { type PartitionMessage } from './partition-message.js';
import { OwnedQueue } from './owned-queue.js';
import { PartitionQueue } from './partition-queue.js';
import { QUEUE_LIMITS } from './queue-limits.js';

/** What the queues of all partitions have to do with. */
export interface QueueSurroundings {
  handle: MessageHandler;
  /** Sets a message aside that could not be handled. */
  setAside: (message: PartitionMessage) => Promise<void>;
  /** Fetches from a partition again that had to be paused. */
  resume: (topic: string, partition: number) => void;
  /** Fetches a partition from that offset on. */
  seek: (topic: string, partition: number, offset: number) => void;
  /** Of no message anything is told otherwise: another process may tell of it. */
  mayTell: () => boolean;
  /** Something is to be told that has to wait for a commit. */
  onCommitWanted: () => void;
}

/** The queue of a partition that has come to this process, or whose log has begun anew. */
export function openQueue(
  topic: string,
  partition: number,
  { handle, setAside, resume, seek, mayTell, onCommitWanted }: QueueSurroundings,
): OwnedQueue {
  const onResume = (): void => {
    resume(topic, partition);
  };
  const queue = new PartitionQueue(handle, { ...QUEUE_LIMITS, onResume, setAside });
  queue.ownership.telling.allowWhile(mayTell);
  return new OwnedQueue(topic, partition, queue, onCommitWanted, (offset) => {
    seek(topic, partition, offset);
  });
}
