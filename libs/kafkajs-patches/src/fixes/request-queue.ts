/** As much of kafkajs's queue of requests to a broker as decides when it looks whether one may be sent. */
interface RequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests(): void;
}

export type RequestQueueClass = new (options: never) => RequestQueue;

/**
 * Sets no timer where no request waits. kafkajs sets one after each answer, for a time that lies far in the past: of
 * that Node 24 warns, once a process (tulios/kafkajs#1751).
 */
export function withoutIdleTimers<Q extends RequestQueueClass>(QueueOfKafkajs: Q): Q {
  const Base: RequestQueueClass = QueueOfKafkajs;
  return class RequestQueue extends Base {
    override scheduleCheckPendingRequests(): void {
      if (this.pending.length > 0) super.scheduleCheckPendingRequests();
    }
  } as unknown as Q;
}
