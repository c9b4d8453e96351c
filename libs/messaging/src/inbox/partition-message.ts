import { type MessageHeaders } from '#libs/contracts';
import { type Unreadable } from '../exchanged/unreadable-batch.js';
import { type InboundMessage, type InboundRecord } from './inbound-message.js';
import { type PartitionOwnership } from './partition-ownership.js';

/** Where a message's end is told. */
export interface MessageEnds {
  readonly ownership: PartitionOwnership;
  doneInPart(message: PartitionMessage): void;
  ended(message: PartitionMessage, how: 'finished' | 'abandoned'): void;
  failed(message: PartitionMessage, error: unknown): void;
}

/**
 * A message on its way through the bridge. A class: there are tens of thousands a second. What it says of its record
 * is read there when it is asked for, so it must not be spread.
 */
export class PartitionMessage implements InboundMessage {
  onFinished?: (message: InboundMessage) => void;
  /** How often handling it has failed. */
  failures = 0;
  /** Its calls have been answered: it must not be handled anew. */
  isAnswered = false;
  private hasEnded = false;
  /** Since it was last handled: what several of its commands tell of one attempt is one failure. */
  private hasFailed = false;

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

  doneInPart(): void {
    this.ends.doneInPart(this);
  }

  finish(): void {
    this.end('finished');
  }

  abandon(): void {
    this.end('abandoned');
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

  private end(how: 'finished' | 'abandoned'): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.ends.ended(this, how);
    if (how === 'finished') this.onFinished?.(this);
  }
}
