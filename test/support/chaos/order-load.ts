import { realDelayMs } from '#libs/clock';
import { TOPICS } from '#libs/contracts';
import type { PartitionedProducer } from '../partitioned-producer.js';
import type { Message } from '../stock-kafkajs.js';
import { listsOf, orderBody, type SentOrder, sentOrder } from './order-model.js';

const ROUND_MS = 50;
/** After every five states of an order, an older state comes after a newer one, and one state comes twice. */
const LATE_EVERY = 5;
const TWICE_EVERY = 7;

interface Document {
  messageId: string;
  /** Without a key, the message may come through any partition. */
  key?: string;
  orders: readonly SentOrder[];
}

/** The bridge's mapping file for documents of several orders, which the canonical format does not have. */
export const SEVERAL_ORDERS = {
  name: 'several orders',
  contentType: 'application/vnd.load.orders+json',
  expression: 'orders',
};
/** The second order of a document has its number increased by this. */
const TWIN = 5000;

/**
 * Orders that move from machine to machine, in a steady stream of messages. Half of the messages have their order as
 * key, a quarter have no key, and a quarter have no key and a second order.
 */
export class OrderLoad {
  /** Machines of each message, by its `message-id`. */
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

  /** The lists that the machines must have in the end. */
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
    // the caller of `stop` gets the error; until then nobody waits for it
    this.stream.catch(() => undefined);
  }

  /** @throws the error that ended the stream early */
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

  /** The order's next state, sometimes with the previous state after it, or with a repetition. */
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
