import { type MessageHeaders } from '#libs/contracts';
import { type Unreadable } from '#libs/kafkajs-patches';
import { type OutboundRecord } from '../producer/outbound-record.js';
import { type RecordRefusedError } from '../producer/record-refused.js';
import { type InboundMessage, type InboundRecord, type WhenRefused } from './inbound-message.js';
import { type PartitionOwnership } from './partition-ownership.js';

/** Where a message's end is told. */
export interface MessageEnds {
  readonly ownership: PartitionOwnership;
  isDone(offset: number, item: number): boolean;
  /** Has the records written, and with them what of the message is done. */
  tell(message: PartitionMessage, records: readonly OutboundRecord[], item?: number): void;
  /**
   * The same of all of them: {@link ended} follows for each once they are written.
   *
   * @param refused they never can be
   */
  finish(
    messages: readonly PartitionMessage[],
    records: readonly OutboundRecord[],
    refused: (refusal: RecordRefusedError) => void,
  ): void;
  ended(message: PartitionMessage, how: 'finished' | 'abandoned'): void;
  failed(message: PartitionMessage, error: unknown): void;
}

/**
 * A message on its way through the bridge. A class: there are tens of thousands a second. What it says of its record
 * is read there when it is asked for, so it must not be spread.
 */
export class PartitionMessage implements InboundMessage {
  /** How often handling it has failed. */
  failures = 0;
  /** Its calls have been answered: it must not be handled anew. */
  isAnswered = false;
  /** It is known what becomes of it; that may have to be written still. */
  private hasEnded = false;
  /** Since it was last handled: what several of its commands tell of one attempt is one failure. */
  private hasFailed = false;
  /** What of it was told here, written or not. */
  private told: Set<number> | undefined;

  constructor(
    private readonly record: InboundRecord,
    private readonly ends: MessageEnds,
  ) {}

  get topic(): string {
    return this.record.topic;
  }

  get partition(): number {
    return this.record.partition;
  }

  get offset(): number {
    return this.record.offset;
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
    return this.record.headers;
  }

  get bytes(): number {
    return this.record.bytes;
  }

  get unreadable(): Unreadable | undefined {
    return this.record.unreadable;
  }

  get ownership(): PartitionOwnership {
    return this.ends.ownership;
  }

  isDone(item: number): boolean {
    return this.told?.has(item) === true || this.ends.isDone(this.offset, item);
  }

  tell(records: readonly OutboundRecord[], item?: number): void {
    if (this.hasEnded || (item !== undefined && this.isDone(item))) return;
    if (item !== undefined) (this.told ??= new Set()).add(item);
    this.ends.tell(this, records, item);
  }

  finish(records: readonly OutboundRecord[] = [], orElse?: WhenRefused): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.ends.finish([this], records, (refusal) => {
      this.hasEnded = false;
      if (orElse === undefined) this.fail(refusal, true);
      else this.finish(orElse(refusal));
    });
  }

  finishWith(
    others: readonly PartitionMessage[],
    records: readonly OutboundRecord[],
    apart: (message: InboundMessage) => void,
  ): void {
    const messages = [this, ...others].filter((message) => !message.hasEnded);
    if (messages.length === 0) return;
    for (const message of messages) message.hasEnded = true;
    // they end in their order, before those behind them
    this.ends.finish(messages, records, () => {
      for (const message of messages) {
        message.hasEnded = false;
        apart(message);
      }
    });
  }

  abandon(): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.ends.ended(this, 'abandoned');
  }

  fail(error: unknown, isAnswered = false): void {
    this.isAnswered ||= isAnswered;
    if (this.hasEnded || this.hasFailed) return;
    this.hasFailed = true;
    this.failures += 1;
    this.ends.failed(this, error);
  }

  handledAnew(): void {
    this.hasFailed = false;
  }
}
