import { realNowMs } from '#libs/clock';
import type { Parsed } from '#libs/contracts';
import type { MessageSpan } from '#libs/tracing';
import type { OutboundRecord, RecordRefusedError } from '../producer/outbound-record.js';
import type { InboundRecord } from '../reading/stored-record.js';

/**
 * A message in flight. Its handler ends it once, by `finish`, `finishWith`, `abandon` or `fail`; the first call counts.
 * A message that has ended never holds up the commit of those before it.
 */
export interface InboundMessage extends InboundRecord {
  /**
   * Aborts when its partition is revoked or the process stops. No call may begin for it then: it is delivered again to
   * the new owner.
   */
  readonly revoked: AbortSignal;
  readonly span: MessageSpan;
  /** Its value as {@link ValueDecoder} has decoded it; undefined where that leaves it as it is. */
  decoded?: Parsed<Buffer> | undefined;
  /** Whether an item of it, by its index, is done: here or by an earlier owner. */
  isItemDone(item: number): boolean;
  /**
   * Publishes records before it is finished.
   *
   * @param item the item that is done with them, and not to be done again after a redelivery
   */
  publish(records: readonly OutboundRecord[], item?: number): void;
  /** Whether an earlier owner has published that it waits. */
  readonly wasDeferred: boolean;
  /** Publishes that it waits, which the next owner need not do again. */
  publishDeferral(records: readonly OutboundRecord[]): void;
  /**
   * Finishes it: its offset is committed in the transaction of these records.
   *
   * @param records its outcomes, dead letter or state
   * @param orElse replaces records that Kafka refuses; without it, the message becomes a dead letter
   */
  finish(records?: readonly OutboundRecord[], orElse?: WhenRefused): void;
  /**
   * Finishes it and other messages of its partition in one transaction.
   *
   * @param apart ends one of them by itself, where Kafka refuses the records of all
   */
  finishWith(
    others: readonly InboundMessage[],
    records: readonly OutboundRecord[],
    apart: (message: InboundMessage) => void,
  ): void;
  /** Leaves it unfinished because its partition is revoked: another process receives it again. */
  abandon(): void;
  /**
   * Reports a failure that no message can cause, a bug: it is handled again, and becomes a dead letter when that does
   * not help.
   *
   * @param isAnswered its calls have been answered and the outcome cannot be published: it becomes a dead letter and is
   * not handled again, because no call is made a second time for what followed from the first
   */
  fail(error: unknown, isAnswered?: boolean): void;
}

/** Records to write in place of those that are too large, or cannot be encoded. */
export type WhenRefused = (refusal: RecordRefusedError) => readonly OutboundRecord[];

/** Takes messages of one partition in the order of their offsets; they end in any order. */
export type MessageHandler = (messages: readonly InboundMessage[]) => Promise<void>;

/**
 * Decodes a value before its message is handed over: at once, later, or undefined for a value that is left as it is.
 * The messages behind it in its partition wait for it, those of other partitions do not.
 */
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
