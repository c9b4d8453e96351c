import { type MessageHeaders } from '#libs/contracts';
import { type InboundMessage } from './inbound-message.js';
import { type PartitionOwnership } from './partition-ownership.js';

/** Where the end of a part is told. */
export interface PartEnds {
  readonly whole: InboundMessage;
  ended(part: MessagePart, how: 'finished' | 'abandoned'): void;
  failed(error: unknown, isAnswered: boolean): void;
}

/**
 * One of several things that a message tells, which ends by itself. A class that asks the message, as
 * {@link PartitionMessage} asks its record: there are as many.
 */
export class MessagePart implements InboundMessage {
  /** It waits at first, and once it has failed. */
  private state: 'waiting' | 'under way' | 'ended' = 'waiting';

  constructor(
    private readonly ends: PartEnds,
    readonly index: number,
    readonly bytes: number,
  ) {}

  get topic(): string {
    return this.ends.whole.topic;
  }

  get partition(): number {
    return this.ends.whole.partition;
  }

  get offset(): number {
    return this.ends.whole.offset;
  }

  get timestamp(): string {
    return this.ends.whole.timestamp;
  }

  get key(): Buffer | null {
    return this.ends.whole.key;
  }

  get value(): Buffer | null {
    return this.ends.whole.value;
  }

  get headers(): MessageHeaders {
    return this.ends.whole.headers;
  }

  get ownership(): PartitionOwnership {
    return this.ends.whole.ownership;
  }

  /** Whether it is to be handled; from then on it is under way. */
  begin(): boolean {
    if (this.state !== 'waiting') return false;
    this.state = 'under way';
    return true;
  }

  /** Told once all of the message is finished. */
  set onFinished(told: (message: InboundMessage) => void) {
    this.ends.whole.onFinished = told;
  }

  doneInPart(): void {
    this.ends.whole.doneInPart();
  }

  finish(): void {
    this.end('finished');
  }

  abandon(): void {
    this.end('abandoned');
  }

  fail(error: unknown, isAnswered = false): void {
    if (this.state !== 'under way') return;
    this.state = 'waiting';
    this.ends.failed(error, isAnswered);
  }

  private end(how: 'finished' | 'abandoned'): void {
    if (this.state !== 'under way') return;
    this.state = 'ended';
    this.ends.ended(this, how);
  }
}
