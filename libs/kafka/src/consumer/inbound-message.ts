import { type OutboundRecord } from '../producer/outbound-record.js';
import { type RecordRefusedError } from '../producer/record-refused.js';
import { type InboundRecord } from '../reading/inbound-record.js';
import { type PartitionOwnership } from './partition-ownership.js';

/**
 * A message to be brought to its end, which one of the last three tells, once. What ends first counts; a
 * message that ends never holds up the commit of those before it.
 */
export interface InboundMessage extends InboundRecord {
  readonly ownership: PartitionOwnership;
  /** Of the things it tells, by their place in it, from 0: whether this one is done, here or by an earlier owner. */
  isItemDone(item: number): boolean;
  /**
   * Something is said of it before it is finished.
   *
   * @param item what of it is done by that, and is not to be done again when it is delivered again
   */
  publish(records: readonly OutboundRecord[], item?: number): void;
  /**
   * Nothing is left to do for it: its offset moves in the transaction that writes these.
   *
   * @param records what has become of it
   * @param orElse without it, a message whose records Kafka refuses is set aside
   */
  finish(records?: readonly OutboundRecord[], orElse?: WhenRefused): void;
  /**
   * The same for this message and others of its partition, all of them in one transaction.
   *
   * @param apart where Kafka refuses what they lead to together: ends one of them by itself
   */
  finishWith(
    others: readonly InboundMessage[],
    records: readonly OutboundRecord[],
    apart: (message: InboundMessage) => void,
  ): void;
  /** Its partition is lost: nothing more is done for it here, and another process receives it again. */
  abandon(): void;
  /**
   * Something failed that no message can cause, a bug: it is handled anew, and set aside when that does not help.
   *
   * @param isAnswered its calls have been answered, and that cannot be published: it is set aside without handling it
   * anew, since no call is made a second time for what followed from the first
   */
  fail(error: unknown, isAnswered?: boolean): void;
}

/** What to write in place of records that are too large, or cannot be encoded. */
export type WhenRefused = (refusal: RecordRefusedError) => readonly OutboundRecord[];

/** Takes messages of one partition in the order of their offsets; they end whenever they end. */
export type MessageHandler = (messages: readonly InboundMessage[]) => Promise<void>;
