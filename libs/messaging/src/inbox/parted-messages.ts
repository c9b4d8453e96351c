import { type MessageHeaders } from '#libs/contracts';
import { type OutboundRecord } from '../outbox/outbound-record.js';
import { type InboundMessage } from './inbound-message.js';
import { type PartitionOwnership } from './partition-ownership.js';

/** One of the things that a message tells. */
interface ToldPart<T> {
  /** Ends when all there is to do for it is done. */
  part: InboundMessage;
  told: T;
  /** The first is 0. */
  index: number;
}

/**
 * The messages of one partition that tell several things each, for as long as that is owned. A message ends with the
 * last of its parts; where one fails it is handled anew, and of it that part alone.
 */
export class PartedMessages {
  private readonly open = new Map<number, MessageParts>();
  private underWay = 0;
  private readonly whenRoom: (() => void)[] = [];

  /** @param most parts that are under way before others have to wait for {@link room} */
  constructor(private readonly most: number) {}

  /** What is to be handled of a message: all it tells that is not done, or when it comes again, what has failed of it. */
  take<T>(message: InboundMessage, told: readonly T[]): ToldPart<T>[] {
    const { offset } = message;
    let parts = this.open.get(offset);
    if (parts?.whole !== message) {
      const began = (by: 1 | -1): void => {
        this.count(by);
      };
      const closed = (): void => {
        if (this.open.get(offset)?.whole === message) this.open.delete(offset);
      };
      parts = new MessageParts(message, told.length, began, closed);
      this.open.set(offset, parts);
    }
    return parts.take(told);
  }

  /** Resolves once others may come. */
  async room(): Promise<void> {
    while (this.underWay >= this.most) {
      await new Promise<void>((resolve) => this.whenRoom.push(resolve));
    }
  }

  private count(by: 1 | -1): void {
    this.underWay += by;
    if (this.underWay < this.most) for (const resolve of this.whenRoom.splice(0)) resolve();
  }
}

/** The parts of one message. */
class MessageParts {
  private readonly parts: readonly MessagePart[];
  private open: number;
  private isAbandoned = false;

  constructor(
    readonly whole: InboundMessage,
    count: number,
    private readonly underWay: (by: 1 | -1) => void,
    private readonly closed: () => void,
  ) {
    this.open = count;
    const bytes = Math.ceil(whole.bytes / count);
    this.parts = Array.from({ length: count }, (_, index) => new MessagePart(this, index, bytes));
  }

  /** Those that wait to be handled, but for what is done. */
  take<T>(all: readonly T[]): ToldPart<T>[] {
    return all.flatMap((told, index) => {
      const part = this.parts[index];
      if (part?.begin() !== true) return [];
      this.underWay(1);
      if (!this.whole.isDone(index)) return [{ part, told, index }];
      part.finish();
      return [];
    });
  }

  /** @param records what has become of the part; undefined where it is abandoned */
  ended(index: number, records: readonly OutboundRecord[] | undefined): void {
    this.isAbandoned ||= records === undefined;
    this.open -= 1;
    this.underWay(-1);
    if (this.open > 0) {
      if (records !== undefined) this.whole.tell(records, index);
      return;
    }
    this.closed();
    if (this.isAbandoned) this.whole.abandon();
    else this.whole.finish(records);
  }

  failed(error: unknown, isAnswered: boolean): void {
    this.underWay(-1);
    this.whole.fail(error, isAnswered);
  }
}

/** One of several things that a message tells, which ends by itself. A class that asks the message: there are as many. */
class MessagePart implements InboundMessage {
  /** It waits at first, and once it has failed. */
  private state: 'waiting' | 'under way' | 'ended' = 'waiting';

  constructor(
    private readonly parts: MessageParts,
    private readonly index: number,
    readonly bytes: number,
  ) {}

  get topic(): string {
    return this.parts.whole.topic;
  }

  get partition(): number {
    return this.parts.whole.partition;
  }

  get offset(): number {
    return this.parts.whole.offset;
  }

  get timestamp(): string {
    return this.parts.whole.timestamp;
  }

  get key(): Buffer | null {
    return this.parts.whole.key;
  }

  get value(): Buffer | null {
    return this.parts.whole.value;
  }

  get headers(): MessageHeaders {
    return this.parts.whole.headers;
  }

  get ownership(): PartitionOwnership {
    return this.parts.whole.ownership;
  }

  /** Whether it is to be handled; from then on it is under way. */
  begin(): boolean {
    if (this.state !== 'waiting') return false;
    this.state = 'under way';
    return true;
  }

  /** Told once all of the message is finished. */
  set onFinished(told: (message: InboundMessage) => void) {
    this.parts.whole.onFinished = told;
  }

  isDone(): boolean {
    return false;
  }

  tell(records: readonly OutboundRecord[]): void {
    this.parts.whole.tell(records);
  }

  finish(records: readonly OutboundRecord[] = []): void {
    this.end(records);
  }

  abandon(): void {
    this.end(undefined);
  }

  fail(error: unknown, isAnswered = false): void {
    if (this.state !== 'under way') return;
    this.state = 'waiting';
    this.parts.failed(error, isAnswered);
  }

  private end(records: readonly OutboundRecord[] | undefined): void {
    if (this.state !== 'under way') return;
    this.state = 'ended';
    this.parts.ended(this.index, records);
  }
}
