import { type Producer } from 'kafkajs';
import { realDelayMs } from '#libs/clock';
import { TOPICS } from '#libs/contracts';
import { listsOf, orderBody, type ToldOrder, toldOrder } from './order-model.js';

const ROUND_MS = 50;
/** Every so many states of an order, an older one comes after a newer one; and one comes twice. */
const LATE_EVERY = 5;
const TWICE_EVERY = 7;

interface SentOrder {
  messageId: string;
  told: ToldOrder;
}

/** Orders that wander from machine to machine, in a steady stream of messages. */
export class OrderLoad {
  /** Machines that each message names, by its `message-id`. */
  readonly sent = new Map<string, readonly string[]>();
  private readonly newest = new Map<string, ToldOrder>();
  private readonly states: number[];
  private stopping = new AbortController();
  private stream: Promise<void> = Promise.resolve();
  private next = 0;

  constructor(
    private readonly producer: Producer,
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
    const messages = round.map(({ messageId, told }) => ({
      key: told.orderId,
      value: JSON.stringify(orderBody(told)),
      headers: { 'message-id': messageId },
    }));
    await this.producer.send({ topic: `${this.topicPrefix}${TOPICS.workOrders}`, messages });
    for (const { messageId, told } of round) {
      this.sent.set(messageId, told.machineIds);
      const known = this.newest.get(told.orderId);
      if (known === undefined || told.changedAt >= known.changedAt) {
        this.newest.set(told.orderId, told);
      }
    }
  }

  private turn(): number {
    this.next = (this.next + 1) % this.states.length;
    return this.next;
  }

  /** The order's next state, and with it now and then one before that, or the same again. */
  private nextOf(order: number): SentOrder[] {
    const n = (this.states[order] ?? 0) + 1;
    this.states[order] = n;
    const told = (state: number, suffix = ''): SentOrder => ({
      messageId: `${order}/${n}${suffix}`,
      told: toldOrder(order, state, this.machineIds),
    });
    return [
      told(n),
      ...(n % LATE_EVERY === 0 ? [told(n - 1, '/late')] : []),
      ...(n % TWICE_EVERY === 0 ? [told(n, '/again')] : []),
    ];
  }
}
