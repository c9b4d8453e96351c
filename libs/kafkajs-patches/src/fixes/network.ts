import { type Socket } from 'node:net';

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

export type CreateSocketFactory = () => (options: never) => Socket;

/**
 * Unrefs a socket once. kafkajs closes a connection as often as something fails on it. Of a socket that is gone, Node
 * keeps each time a listener for when it connects, which never comes: after ten it warns of a leak.
 */
export function unreferencedOnce(createFactory: CreateSocketFactory): CreateSocketFactory {
  return () => {
    const createSocket = createFactory();
    return (options) => {
      const socket = createSocket(options);
      let isUnreferenced = false;
      const unref = socket.unref.bind(socket);
      socket.unref = () => {
        if (isUnreferenced) return socket;
        isUnreferenced = true;
        return unref();
      };
      return socket;
    };
  };
}
