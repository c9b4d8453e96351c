import { realEpochMs } from '#libs/clock';
import { type InboundMessage } from './inbound-message.js';
import { MessagePart, type PartEnds } from './message-part.js';

/** One of the things that a message tells. */
export interface ToldPart<T> {
  /** Ends when all there is to do for it is done. */
  part: InboundMessage;
  told: T;
  /** The first is 0. */
  index: number;
}

/** Where it is told what becomes of messages in parts. */
export interface PartsTally {
  /** A part is under way. */
  began(): void;
  /** It is so no more. */
  ended(): void;
  /** All parts of a message are finished. */
  closed(parts: MessageParts): void;
}

/** The parts of one message. */
export class MessageParts implements PartEnds {
  /** Indices of those that are finished. */
  readonly done: number[] = [];
  private readonly parts: readonly MessagePart[];
  private readonly sinceMs = realEpochMs();
  private open: number;
  private isAbandoned = false;

  constructor(
    readonly whole: InboundMessage,
    count: number,
    private readonly tally: PartsTally,
  ) {
    this.open = count;
    const bytes = Math.ceil(whole.bytes / count);
    this.parts = Array.from({ length: count }, (_, index) => new MessagePart(this, index, bytes));
  }

  /** Those that wait to be handled, but for what is done: that is finished. */
  take<T>(all: readonly T[], isDone: (index: number) => boolean): ToldPart<T>[] {
    const taken: ToldPart<T>[] = [];
    all.forEach((told, index) => {
      const part = this.parts[index];
      if (part?.begin() !== true) return;
      this.tally.began();
      if (isDone(index)) part.finish();
      else taken.push({ part, told, index });
    });
    if (this.done.length > 0) this.remembered(isDone);
    return taken;
  }

  ended({ index }: MessagePart, how: 'finished' | 'abandoned'): void {
    if (how === 'finished') this.done.push(index);
    else this.isAbandoned = true;
    this.open -= 1;
    this.tally.ended();
    const { telling } = this.whole.ownership;
    if (this.open > 0) {
      if (how === 'finished') telling.toldInPart(this, this.sinceMs);
      return;
    }
    if (this.isAbandoned) {
      this.whole.abandon();
      return;
    }
    this.tally.closed(this);
    this.whole.finish();
    telling.settled(this);
  }

  /** Whoever owns the partition next knows which are done. */
  remembered(isDone: (index: number) => boolean): void {
    if (this.done.every(isDone)) this.whole.ownership.telling.settled(this);
  }

  failed(error: unknown, isAnswered: boolean): void {
    this.tally.ended();
    this.whole.fail(error, isAnswered);
  }
}
