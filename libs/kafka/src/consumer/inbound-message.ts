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
  /** Finishes a message that cannot be handled; `areCallsAnswered` as in {@link PartitionMessage.fail}. */
  giveUp: (message: InboundMessage, areCallsAnswered: boolean) => void;
}

/** The part of its partition that a message needs. */
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
 * A message in flight. Its handler ends it once, by `finish`, `finishWith`, `abandon` or `fail`; the first call
 * counts. A message that has ended never holds up the commit of earlier ones.
 *
 * A class, because there are tens of thousands a second. Its getters read the record on demand, so it must not be
 * spread.
 */
export class PartitionMessage implements InboundRecord {
  private failures = 0;
  /** Whether the service has answered its calls: then it must not be handled again. */
  private areCallsAnswered = false;
  /** Its value as decoded by {@link ValueDecoder}; undefined if that leaves it as it is. */
  decoded: Parsed<Buffer> | undefined;
  /** *failed*: at least once since it was last handled. *ended*: its end is decided, and may wait for its commit. */
  private state: 'handled' | 'failed' | 'ended' = 'handled';
  /** Items published by this process, committed or not. */
  private publishedItems: Set<number> | undefined;
  /** Ends the message after Kafka has refused the records of its end. */
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

  /** Aborts when its partition is revoked or the process stops: no call may begin, the next owner receives it again. */
  get revoked(): AbortSignal {
    return this.assigned.revoked;
  }

  /** Whether an item of the message, by its index, has been done by this process or an earlier owner. */
  isItemDone(item: number): boolean {
    const { progress } = this.assigned;
    return this.publishedItems?.has(item) === true || progress.isItemDone(this.offset, item);
  }

  /** Publishes records before its end; `item` is done with them, and not repeated after a redelivery. */
  publish(records: readonly OutboundRecord[], item?: number): void {
    if (this.state === 'ended' || (item !== undefined && this.isItemDone(item))) return;
    if (item !== undefined) (this.publishedItems ??= new Set()).add(item);
    this.assigned.transactions.addToTransaction(new TransactionEntry([this], records, false, item));
  }

  /** Whether an earlier owner has published that the message is deferred. */
  get wasDeferred(): boolean {
    return this.assigned.progress.wasDeferred(this.offset);
  }

  /** Publishes that the message is deferred; the next owner need not repeat it. */
  publishDeferral(records: readonly OutboundRecord[]): void {
    if (this.state === 'ended') return;
    this.assigned.transactions.addToTransaction(
      new TransactionEntry([this], records, false, undefined, true),
    );
  }

  /**
   * Finishes the message: its offset is committed with these records (outcomes, dead letter, state). `orElse`
   * replaces them if Kafka refuses them; without it, the message becomes a dead letter.
   */
  finish(records?: readonly OutboundRecord[], orElse?: WhenRefused): void {
    const whenRefused: EndRefused =
      orElse === undefined ? failRefused : (message, refusal) => message.finish(orElse(refusal));
    this.finishWith([], records ?? [], whenRefused);
  }

  /** Finishes it and others of its partition in one transaction; if Kafka refuses that, `apart` ends each by itself. */
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

  /** Reverts the end whose records Kafka has refused, and ends the message in another way. */
  recordsRefused(refusal: RecordRefusedError, areLast: boolean): void {
    if (areLast) {
      this.state = 'handled';
      this.whenRefused(this, refusal);
    } else this.fail(refusal, true);
  }

  /** Leaves the message unfinished because its partition is revoked: the next owner receives it again. */
  abandon(): void {
    if (this.state === 'ended') return;
    this.state = 'ended';
    this.assigned.messageEnded(this, 'abandoned');
  }

  /**
   * Reports a bug: the message is handled again, and becomes a dead letter when that does not help. If its calls were
   * answered and their outcome cannot be published, it is not handled again: no call is repeated for its records.
   */
  fail(error: unknown, areCallsAnswered = false): void {
    this.areCallsAnswered ||= areCallsAnswered;
    if (this.state !== 'handled') return;
    this.state = 'failed';
    this.failures += 1;
    void this.handleAgain(error);
  }

  /** Handles it alone, up to {@link ATTEMPTS} times: it must neither stop later messages nor end the process. */
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
      if (failures < ATTEMPTS && !this.areCallsAnswered) await handle([this]);
      else giveUp(this, this.areCallsAnswered);
    } catch (failure) {
      if (revoked.aborted) this.abandon();
      else this.fail(failure);
    }
  }
}

/** A message in flight, as handlers see it. */
export type InboundMessage = Omit<PartitionMessage, 'recordsRefused'>;

type EndRefused = (message: InboundMessage, refusal: RecordRefusedError) => void;

/** Shared by all messages: a closure of each would take memory. */
const failRefused: EndRefused = (message, refusal) => message.fail(refusal, true);

/** Makes records to write in place of those that Kafka has refused. */
export type WhenRefused = (refusal: RecordRefusedError) => readonly OutboundRecord[];

/** Handles messages of one partition in the order of their offsets; they may end in any order. */
export type MessageHandler = (messages: readonly InboundMessage[]) => Promise<void>;

/** Handles messages one by one; an exception is a bug, and fails its message alone. */
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

/** Decodes a value, at once or later; undefined leaves it as it is. Later messages of the partition wait. */
export type ValueDecoder = (
  message: InboundMessage,
) => Parsed<Buffer> | Promise<Parsed<Buffer>> | undefined;

/** Time for decoding in a turn of the event loop: a value of four bytes may take 20 ms to decode and read. */
const LONGEST_DECODING_MS = 50;

/** Hands messages over once their values are decoded; before a slow one, those that are ready. */
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
