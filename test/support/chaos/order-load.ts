import { realDelayMs } from '#libs/clock';
import { TOPICS } from '#libs/contracts';
import type { PartitionedProducer } from '../partitioned-producer.js';
import type { Message } from '../stock-kafkajs.js';
import { listsOf, orderBody, type SentOrder, sentOrder } from './order-model.js';

const ROUND_MS = 50;
/** Every so many states of an order, an older one comes after a newer one; and one comes twice. */
const LATE_EVERY = 5;
const TWICE_EVERY = 7;

interface Document {
  messageId: string;
  /** None: the message may come through any partition. */
  key?: string;
  orders: readonly SentOrder[];
}

/** For documents of several orders, which the canonical form has not: what the bridge's mapping file is to hold. */
export const SEVERAL_ORDERS = {
  name: 'several orders',
  contentType: 'application/vnd.load.orders+json',
  expression: 'orders',
};
/** The second order of a document has a number so much higher. */
const TWIN = 5000;

/**
 * Orders that wander from machine to machine, in a steady stream of messages: half of them keyed by their order,
 * a quarter without a key, and a quarter without one and each together with another order.
 */
export class OrderLoad {
  /** Machines that each message names, by its `message-id`. */
  readonly sent = new Map<string, readonly string[]>();
  private readonly newest = new Map<string, SentOrder>();
  private readonly states: number[];
  private stopping = new AbortController();
  private stream: Promise<void> = Promise.resolve();
  private next = 0;

  constructor(
    private readonly producer: PartitionedProducer,
    private readonly topicPrefix: string,
    private readonly machineIds: readonly string[],
    orders: number,
  ) {
    this.states = Array.from({ length: orders }, () => 0);
  }

  /** What the machines' lists must be in the end. */
  get lists(): Map<string, string[]> {
    return listsOf(this.newest.values(), this.machineIds);
  }

  start({ perSecond }: { perSecond: number }): void {
    const perRound = Math.max(1, Math.round((perSecond * ROUND_MS) / 1000));
    this.stream = (async () => {
      while (!this.stopping.signal.aborted) {
        await this.sendRound(perRound);
        await realDelayMs(ROUND_MS);
      }
    })();
    // Whoever stops the stream hears of it; until then nobody waits.
    this.stream.catch(() => undefined);
  }

  /** @throws what ended the stream before */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.stream;
  }

  private async sendRound(orders: number): Promise<void> {
    const round = Array.from({ length: orders }, () => this.nextOf(this.turn())).flat();
    await this.producer.send({
      topic: `${this.topicPrefix}${TOPICS.workOrders}`,
      messages: round.map(messageOf),
      signal: this.stopping.signal,
    });
    for (const { messageId, orders } of round) {
      this.sent.set(messageId, [...new Set(orders.flatMap(({ machineIds }) => machineIds))]);
      for (const order of orders) {
        const known = this.newest.get(order.orderId);
        if (known === undefined || order.changedAt >= known.changedAt) {
          this.newest.set(order.orderId, order);
        }
      }
    }
  }

  private turn(): number {
    this.next = (this.next + 1) % this.states.length;
    return this.next;
  }

  /** The order's next state, and with it now and then one before that, or the same again. */
  private nextOf(order: number): Document[] {
    const n = (this.states[order] ?? 0) + 1;
    this.states[order] = n;
    const numbers = order % 4 === 3 ? [order, order + TWIN] : [order];
    const documentOf = (state: number, suffix = ''): Document => ({
      messageId: `${order}/${n}${suffix}`,
      ...(order % 2 === 0 && { key: sentOrder(order, state, this.machineIds).orderId }),
      orders: numbers.map((number) => sentOrder(number, state, this.machineIds)),
    });
    return [
      documentOf(n),
      ...(n % LATE_EVERY === 0 ? [documentOf(n - 1, '/late')] : []),
      ...(n % TWICE_EVERY === 0 ? [documentOf(n, '/again')] : []),
    ];
  }
}

function messageOf({ messageId, key, orders }: Document): Message {
  const bodies = orders.map(orderBody);
  const isSeveral = bodies.length > 1;
  return {
    ...(key !== undefined && { key }),
    value: JSON.stringify(isSeveral ? { orders: bodies } : bodies[0]),
    headers: {
      'message-id': messageId,
      ...(isSeveral && { 'content-type': SEVERAL_ORDERS.contentType }),
    },
  };
}
