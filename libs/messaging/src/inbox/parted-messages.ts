import { type InboundMessage } from './inbound-message.js';
import { MessageParts, type PartsTally, type ToldPart } from './message-parts.js';

/**
 * The messages of one partition that tell several things each, for as long as that is owned. A message ends with the
 * last of its parts; where one fails it is handled anew, and of it that part alone.
 */
export class PartedMessages implements PartsTally {
  private readonly open = new Map<number, MessageParts>();
  private underWay = 0;
  private highest = -1;
  private readonly whenRoom: (() => void)[] = [];

  /** @param most parts that are under way before others have to wait for {@link room} */
  constructor(private readonly most: number) {}

  /**
   * What is to be handled of a message: all it tells, or when it comes again, what has failed of it.
   *
   * @param isDone what an earlier owner has done of it, by index
   */
  take<T>(
    message: InboundMessage,
    told: readonly T[],
    isDone: (index: number) => boolean,
  ): ToldPart<T>[] {
    const { offset } = message;
    let parts = this.open.get(offset);
    if (parts?.whole !== message) {
      parts = new MessageParts(message, told.length, this);
      this.open.set(offset, parts);
      this.highest = Math.max(this.highest, offset);
    }
    return parts.take(told, isDone);
  }

  /** Resolves once others may come. */
  async room(): Promise<void> {
    while (this.underWay >= this.most) {
      await new Promise<void>((resolve) => this.whenRoom.push(resolve));
    }
  }

  /** Of the messages that are not finished those that are done in part, by offset: the indices of what is done. */
  doneInPart(): Map<number, readonly number[]> {
    const all = new Map<number, readonly number[]>();
    for (const [offset, { done }] of this.open) if (done.length > 0) all.set(offset, done);
    return all;
  }

  /** Whoever owns the partition next knows what of the message is done. */
  remembered(offset: number, isDone: (index: number) => boolean): void {
    this.open.get(offset)?.remembered(isDone);
  }

  /** Whether the message at the offset has been finished here, or was before. */
  isFinished(offset: number): boolean {
    return offset <= this.highest && !this.open.has(offset);
  }

  began(): void {
    this.underWay += 1;
  }

  ended(): void {
    this.underWay -= 1;
    if (this.underWay >= this.most) return;
    for (const resolve of this.whenRoom.splice(0)) resolve();
  }

  closed(parts: MessageParts): void {
    const { offset } = parts.whole;
    if (this.open.get(offset) === parts) this.open.delete(offset);
  }
}
