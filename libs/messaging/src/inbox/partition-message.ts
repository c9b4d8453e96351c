import { type IHeaders } from '../kafkajs.js';
import { type InboundMessage, type InboundRecord } from './inbound-message.js';
import { type PartitionOwnership } from './partition-ownership.js';

/** Where a message's end is told. */
export interface MessageEnds {
  readonly ownership: PartitionOwnership;
  ended(message: PartitionMessage, how: 'finished' | 'abandoned'): void;
  failed(message: PartitionMessage, error: unknown): void;
}

/** A message on its way through the bridge. A class: there are tens of thousands a second. */
export class PartitionMessage implements InboundMessage {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestamp: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: IHeaders;
  readonly bytes: number;
  onFinished?: (message: InboundMessage) => void;
  /** How often handling it has failed. */
  failures = 0;
  private hasEnded = false;
  /** Since it was last handled: what several of its commands tell of one attempt is one failure. */
  private hasFailed = false;

  constructor(
    record: InboundRecord,
    private readonly ends: MessageEnds,
  ) {
    this.topic = record.topic;
    this.partition = record.partition;
    this.offset = record.offset;
    this.timestamp = record.timestamp;
    this.key = record.key;
    this.value = record.value;
    this.headers = record.headers;
    this.bytes = record.bytes;
  }

  get ownership(): PartitionOwnership {
    return this.ends.ownership;
  }

  finish(): void {
    this.end('finished');
  }

  abandon(): void {
    this.end('abandoned');
  }

  fail(error: unknown): void {
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
