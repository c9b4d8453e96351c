import { type TopicPartition } from '../kafkajs.js';
import { type Inherited, type OwnedQueue } from './owned-queue.js';

/** A partition that is newly owned, whose messages wait. */
export interface FreshPartition extends TopicPartition {
  /**
   * Says what an earlier owner has left, for which the messages wait: what it has finished ahead of its commit, and
   * since when it may have told of what lies before `end`. Of no effect when the partition has been lost
   * meanwhile, also if it has come back: then that is asked for anew.
   */
  recall: (inherited: Inherited | undefined) => void;
}

/** @param mustWait also for the state that its messages are judged by */
export function freshPartition(owned: OwnedQueue, mustWait: boolean): FreshPartition {
  const { topic, partition, queue } = owned;
  queue.hold('recall');
  if (mustWait) queue.hold('state');
  const recall = (inherited: Inherited | undefined): void => {
    queue.recall(inherited?.finished);
    if (inherited?.toldUntilMs !== undefined) owned.inherit(inherited.toldUntilMs, inherited.end);
    queue.release('recall');
  };
  return { topic, partition, recall };
}
