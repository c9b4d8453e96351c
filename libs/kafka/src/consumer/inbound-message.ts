import { Logger } from '@nestjs/common';
import { realDelayMs, realNowMs } from '#libs/clock';
import type { MessageHeaders, Parsed } from '#libs/contracts';
import { backOffMs } from '#libs/delivery';
import { type MessageSpan, NO_TRACING, type Tracing } from '#libs/tracing';
import type { FetchedRecord, Unreadable } from '../client/kafka-port.js';
import type { OutboundRecord, RecordRefusedError } from '../producer/outbound-record.js';
import type { PartitionTransactions } from '../producer/partition-transactions.js';
import { TransactionEntry } from '../producer/pending-entries.js';
import type { InboundRecord } from '../reading/stored-record.js';
import type { PartitionProgress } from './partition-progress.js';

export interface MessageContext {
  tracing?: Pick<Tracing, 'messageStarts'> | undefined;
  handle: MessageHandler;
  /** Finishes a message that cannot be handled; `isAnswered` as {@link PartitionMessage.fail} has it. */
  giveUp: (message: InboundMessage, isAnswered: boolean) => void;
}

/** As much of its partition as a message asks for. */
interface MessagePartition {
  readonly topic: string;
  /** The topic without its prefix. */
  readonly input: string;
  readonly partition: number;
  readonly revoked: AbortSignal;
  readonly context: MessageContext;
  readonly progress: Pick<PartitionProgress, 'isItemDone' | 'wasDeferred'>;
  readonly transactions: Pick<PartitionTransactions, 'addToTransaction'>;
  messageEnded(message: PartitionMessage, how: 'abandoned'): void;
}

const ATTEMPTS = 3;
const BACK_OFF = { baseMs: 100, capMs: 2000 };
const logger = new Logger('Consumer');

/**
 * A message in flight. Its handler ends it once, by `finish`, `finishWith`, `abandon` or `fail`; the first call counts.
 * A message that has ended never holds up the commit of those before it.
 *
 * A class, because there are tens of thousands a second. Its getters read the record on demand, so it must not be
 * spread.
 */
export class PartitionMessage implements InboundRecord {
  private failures = 0;
  /** Its calls have been answered: it must not be handled again. */
  private isAnswered = false;
  /** Its value as {@link ValueDecoder} has decoded it; undefined where that leaves it as it is. */
  decoded: Parsed<Buffer> | undefined;
  /** *Failed* since it was last handled, however often; *ended* once its end is decided, which may wait to be written. */
  private state: 'handled' | 'failed' | 'ended' = 'handled';
  /** Items published here, committed or not. */
  private publishedItems: Set<number> | undefined;
  /** Ends it in another way than by records that Kafka has refused. */
  private whenRefused = failRefused;

  readonly span: MessageSpan;

  constructor(
    private readonly record: FetchedRecord,
    private readonly assigned: MessagePartition,
  ) {
    const { tracing = NO_TRACING } = assigned.context;
    this.span = tracing.messageStarts(this);
  }

  get topic(): string {
    return this.assigned.input;
  }

  get partition(): number {
    return this.assigned.partition;
  }

  get offset(): number {
    return this.record.position;
  }

  get timestamp(): string {
    return this.record.timestamp;
  }

  get key(): Buffer | null {
    return this.record.key;
  }

  get value(): Buffer | null {
    return this.record.value;
  }

  get headers(): MessageHeaders {
    return this.record.unreadable === undefined ? this.record.headerList : [];
  }

  get bytes(): number {
    return this.record.bytes;
  }

  get unreadable(): Unreadable | undefined {
    return this.record.unreadable;
  }

  /** Aborts when its partition is revoked or the process stops: no call may begin, the new owner gets it again. */
  get revoked(): AbortSignal {
    return this.assigned.revoked;
  }

  /** Whether an item of it, by its index, is done: here or by an earlier owner. */
  isItemDone(item: number): boolean {
    const { progress } = this.assigned;
    return this.publishedItems?.has(item) === true || progress.isItemDone(this.offset, item);
  }

  /** Publishes records before its end; `item` is done with them, and not done again after a redelivery. */
  publish(records: readonly OutboundRecord[], item?: number): void {
    if (this.state === 'ended' || (item !== undefined && this.isItemDone(item))) return;
    if (item !== undefined) (this.publishedItems ??= new Set()).add(item);
    this.assigned.transactions.addToTransaction(new TransactionEntry([this], records, false, item));
  }

  /** Whether an earlier owner has published that it waits. */
  get wasDeferred(): boolean {
    return this.assigned.progress.wasDeferred(this.offset);
  }

  /** Publishes that it waits, which the next owner need not do again. */
  publishDeferral(records: readonly OutboundRecord[]): void {
    if (this.state === 'ended') return;
    this.assigned.transactions.addToTransaction(
      new TransactionEntry([this], records, false, undefined, true),
    );
  }

  /**
   * Finishes it: its offset is committed with these records (outcomes, dead letter, state). `orElse` replaces them
   * where Kafka refuses them; without it, the message becomes a dead letter.
   */
  finish(records?: readonly OutboundRecord[], orElse?: WhenRefused): void {
    const whenRefused: EndRefused =
      orElse === undefined ? failRefused : (message, refusal) => message.finish(orElse(refusal));
    this.finishWith([], records ?? [], whenRefused);
  }

  /** Finishes it and others of its partition in one transaction; `apart` ends one by itself if Kafka refuses it. */
  finishWith(
    others: readonly InboundMessage[],
    records: readonly OutboundRecord[],
    apart: EndRefused,
  ): void {
    const all = [this, ...(others as readonly PartitionMessage[])];
    const messages = all.filter(({ state }) => state !== 'ended');
    if (messages.length === 0) return;
    for (const message of messages) {
      message.state = 'ended';
      message.whenRefused = apart;
    }
    this.assigned.transactions.addToTransaction(new TransactionEntry(messages, records, true));
  }

  /** Takes back its end where Kafka has refused the records of that, for another one. */
  recordsRefused(refusal: RecordRefusedError, areLast: boolean): void {
    if (areLast) {
      this.state = 'handled';
      this.whenRefused(this, refusal);
    } else this.fail(refusal, true);
  }

  /** Leaves it unfinished because its partition is revoked: another process receives it again. */
  abandon(): void {
    if (this.state === 'ended') return;
    this.state = 'ended';
    this.assigned.messageEnded(this, 'abandoned');
  }

  /**
   * Reports a bug: the message is handled again, and dead-lettered when that does not help. `isAnswered`: its calls
   * were, and the outcome cannot be published: it is not handled again, for no call is made again for what followed.
   */
  fail(error: unknown, isAnswered = false): void {
    this.isAnswered ||= isAnswered;
    if (this.state !== 'handled') return;
    this.state = 'failed';
    this.failures += 1;
    void this.handleAgain(error);
  }

  /** By itself, up to {@link ATTEMPTS} times: one message must neither stop those behind it nor end the process. */
  private async handleAgain(error: unknown): Promise<void> {
    const { partition, offset, failures, revoked } = this;
    const { topic, context } = this.assigned;
    const { handle, giveUp } = context;
    if (!revoked.aborted) {
      logger.error({ msg: 'handler failed', topic, partition, offset, failures, err: error });
    }
    try {
      await realDelayMs(backOffMs(failures, BACK_OFF), revoked);
      if (this.state === 'ended') return;
      this.state = 'handled';
      if (failures < ATTEMPTS && !this.isAnswered) await handle([this]);
      else giveUp(this, this.isAnswered);
    } catch (failure) {
      if (revoked.aborted) this.abandon();
      else this.fail(failure);
    }
  }
}

/** A message in flight, as its handler has it. */
export type InboundMessage = Omit<PartitionMessage, 'recordsRefused'>;

type EndRefused = (message: InboundMessage, refusal: RecordRefusedError) => void;

/** One function for all messages, rather than one of each. */
const failRefused: EndRefused = (message, refusal) => message.fail(refusal, true);

/** Records to write in place of those that are too large, or cannot be encoded. */
export type WhenRefused = (refusal: RecordRefusedError) => readonly OutboundRecord[];

/** Takes messages of one partition in the order of their offsets; they end in any order. */
export type MessageHandler = (messages: readonly InboundMessage[]) => Promise<void>;

/** Has each message handled by itself: what throws is a bug of ours, and fails that message alone. */
export function handleEach(
  messages: readonly InboundMessage[],
  handle: (message: InboundMessage) => void,
): void {
  for (const message of messages) {
    try {
      handle(message);
    } catch (error) {
      message.fail(error);
    }
  }
}

/** Decodes a value, at once or later; undefined leaves it as it is. Messages behind it in the partition wait. */
export type ValueDecoder = (
  message: InboundMessage,
) => Parsed<Buffer> | Promise<Parsed<Buffer>> | undefined;

/** The share of all partitions in a turn of the event loop: a value of four bytes may take 20 ms to decode and read. */
const LONGEST_DECODING_MS = 50;

/** Hands messages over once their values are decoded; those before one that has to wait go ahead of it. */
export function decodeFirst(decode: ValueDecoder, handle: MessageHandler): MessageHandler {
  let decodingMs = 0;
  let turn = Promise.resolve();
  const nextTurn = (): Promise<void> => {
    turn = turn.then(async () => {
      await new Promise(setImmediate);
      decodingMs = 0;
    });
    return turn;
  };
  return async (messages) => {
    let decoded: InboundMessage[] = [];
    const handOver = async (): Promise<void> => {
      const ready = decoded;
      decoded = [];
      if (ready.length > 0) await handle(ready);
    };
    for (const message of messages) {
      while (decodingMs > LONGEST_DECODING_MS) {
        await handOver();
        await nextTurn();
      }
      const begunMs = realNowMs();
      const value = decode(message);
      decodingMs += realNowMs() - begunMs;
      if (value instanceof Promise) {
        await handOver();
        try {
          message.decoded = await value;
        } catch (error) {
          if (message.revoked.aborted) message.abandon();
          else message.fail(error);
          continue;
        }
      } else if (value !== undefined) {
        message.decoded = value;
      }
      decoded.push(message);
    }
    await handOver();
  };
}
