import { realDelayMs } from '#libs/clock';
import { type Kafka } from '../kafkajs.js';
import { type OutboundRecord } from './outbound-record.js';
import { type Receipt } from './receipt.js';
import { SendQueue } from './send-queue.js';
import { byteLength } from './take-batch.js';

/** What comes within a few milliseconds shares a request: one each would cost more than the calls they tell of. */
const LINGER_MS = 10;

/** A topic that records have been posted for. */
export interface TopicHealth {
  topic: string;
  /** Why it, or one of its partitions, does not take records, once that has gone on for a while. */
  problem: string | undefined;
}

/**
 * The way out for what no input leads to: machines' reasons, and what commands send. A record is sent until all in-sync replicas have
 * acknowledged it, however long Kafka is away; what comes together is sent together. Topics do not wait for each
 * other, nor do the partitions of a topic when one of them takes nothing; of one partition a single request is under
 * way at a time, so records of one key stay in order. At least once: a request whose answer was lost is sent again.
 *
 * Nothing is dropped for want of room: whoever posts for a topic that takes nothing has to stop of its own accord, as
 * an input partition does whose messages do not come to their end.
 */
export class Outbox {
  private readonly stopping = new AbortController();
  private readonly queues = new Map<string, SendQueue>();

  /** @param lingerMs real milliseconds that a request waits for company, unless it is full */
  constructor(
    private readonly kafka: Kafka,
    private readonly lingerMs = LINGER_MS,
    private readonly delay: (ms: number) => Promise<void> = realDelayMs,
  ) {}

  /** Takes the record; the receipt hears what became of it, at once when the outbox is closed. */
  post(record: OutboundRecord, receipt: Receipt): void {
    if (this.stopping.signal.aborted) {
      receipt.refused(this.stopping.signal.reason as Error);
      return;
    }
    this.queueOf(record.topic).add({ record, bytes: byteLength(record), receipt });
  }

  /**
   * Resolves once the record is acknowledged; rejects when the outbox is closed before.
   *
   * @throws RecordRefusedError when it can never be sent: too large for its topic, or not encodable
   */
  send(record: OutboundRecord): Promise<void> {
    return new Promise((acknowledged, refused) => {
      this.post(record, { acknowledged, refused });
    });
  }

  /** Of each topic that records have been posted for whether it takes them. */
  health(): TopicHealth[] {
    return [...this.queues.values()].map((queue) => {
      const problems = queue.problems();
      const [first] = problems;
      const where = problems.map((problem) => problem.where).join(', ');
      return { topic: queue.topic, problem: first && `${where}: ${first.why}` };
    });
  }

  async close(): Promise<void> {
    const reason = new Error('the outbox is closed');
    this.stopping.abort(reason);
    await Promise.all([...this.queues.values()].map((queue) => queue.close(reason)));
  }

  private queueOf(topic: string): SendQueue {
    let queue = this.queues.get(topic);
    if (queue === undefined) {
      const { kafka, lingerMs, delay } = this;
      const { signal: stopping } = this.stopping;
      const onQuiet = (): void => undefined;
      queue = new SendQueue({ kafka, stopping, lingerMs, delay, onQuiet }, topic);
      this.queues.set(topic, queue);
    }
    return queue;
  }
}
