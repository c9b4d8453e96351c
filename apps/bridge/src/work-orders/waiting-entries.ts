import { type InboundMessage } from '#libs/messaging';

/** A message as it waits to be written. */
export interface Entry {
  readonly message: InboundMessage;
}

/** A transaction holds what follows from so many messages, or bytes of them, and at least from one. */
const MAX_ENTRIES = 1000;
const MAX_BYTES = 2 * 1024 * 1024;

/** Messages of one partition that wait to be written, in their order; abandoned when their partition is lost. */
export class WaitingEntries<T extends Entry> {
  private readonly entries: T[] = [];
  /** So many of the next go one by one: together they failed. */
  private alone = 0;

  get isEmpty(): boolean {
    return this.entries.length === 0;
  }

  /** Whatever else comes, it could not go with the next. */
  get isNextFull(): boolean {
    return this.alone > 0 || this.entries.length >= MAX_ENTRIES;
  }

  add(entries: readonly T[]): void {
    for (const entry of entries) {
      const { ownership } = entry.message;
      if (this.isAbandoned(entry)) continue;
      ownership.whenLost(this.dropLost);
      this.entries.push(entry);
    }
  }

  /** What {@link next} has given out has not been written. */
  putBack(batch: readonly T[], { alone }: { alone: boolean }): void {
    const kept = batch.filter((entry) => !this.isAbandoned(entry));
    this.entries.unshift(...kept);
    if (alone) this.alone += kept.length;
  }

  /** What goes into the next transaction. */
  next(): T[] {
    if (this.alone > 0) {
      this.alone -= 1;
      return this.entries.splice(0, 1);
    }
    let count = 0;
    let bytes = 0;
    for (const { message } of this.entries) {
      bytes += message.bytes;
      if (count === MAX_ENTRIES || (count > 0 && bytes > MAX_BYTES)) break;
      count += 1;
    }
    return this.entries.splice(0, count);
  }

  /** One function for all messages: their partition knows its listeners by identity. */
  private readonly dropLost = (): void => {
    for (const entry of this.entries.splice(0)) {
      if (!this.isAbandoned(entry)) this.entries.push(entry);
    }
  };

  private isAbandoned({ message }: T): boolean {
    if (!message.ownership.isLost) return false;
    message.abandon();
    return true;
  }
}
