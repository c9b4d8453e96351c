import { type InboundMessage } from '#libs/messaging';

/** A message as it waits to be written. */
export interface Entry {
  readonly message: InboundMessage;
}

/**
 * A transaction holds what follows from so many messages, or bytes of them, and at least from one. With half as many, a
 * backlog is worked off a quarter more slowly, for all the waiting for Kafka. No more are read: a message then takes
 * many times what it took before, and would have outlived the young heap by the time it is written.
 */
const MAX_ENTRIES = 1000;
const MAX_BYTES = 2 * 1024 * 1024;

/** Messages of one partition that wait to be written, in their order; abandoned when their partition is lost. */
export class WaitingEntries<T extends Entry> {
  private readonly entries: T[] = [];
  private bytes = 0;
  /** So many of the next go one by one: together they failed. */
  private alone = 0;
  private readonly whenRoom: (() => void)[] = [];

  get isEmpty(): boolean {
    return this.entries.length === 0;
  }

  /** Whatever else comes, it could not go with the next. */
  get isNextFull(): boolean {
    return this.alone > 0 || this.entries.length >= MAX_ENTRIES || this.bytes >= MAX_BYTES;
  }

  /** Resolves once others may come. */
  async room(): Promise<void> {
    while (this.isNextFull) {
      await new Promise<void>((resolve) => this.whenRoom.push(resolve));
    }
  }

  add(entries: readonly T[]): void {
    for (const entry of entries) {
      const { ownership } = entry.message;
      if (this.isAbandoned(entry)) continue;
      ownership.whenLost(this.dropLost);
      this.entries.push(entry);
      this.bytes += entry.message.bytes;
    }
  }

  /** What {@link next} has given out has not been written. */
  putBack(batch: readonly T[], { alone }: { alone: boolean }): void {
    const kept = batch.filter((entry) => !this.isAbandoned(entry));
    this.entries.unshift(...kept);
    this.bytes += bytesOf(kept);
    if (alone) this.alone += kept.length;
  }

  /** What goes into the next transaction. */
  next(): T[] {
    if (this.alone > 0) {
      this.alone -= 1;
      return this.takeOut(1);
    }
    let count = 0;
    let bytes = 0;
    for (const { message } of this.entries) {
      bytes += message.bytes;
      if (count === MAX_ENTRIES || (count > 0 && bytes > MAX_BYTES)) break;
      count += 1;
    }
    return this.takeOut(count);
  }

  private takeOut(count: number): T[] {
    const taken = this.entries.splice(0, count);
    this.bytes -= bytesOf(taken);
    this.tellRoom();
    return taken;
  }

  /** One function for all messages: their partition knows its listeners by identity. */
  private readonly dropLost = (): void => {
    const all = this.takeOut(this.entries.length);
    this.putBack(all, { alone: false });
    this.alone = Math.min(this.alone, this.entries.length);
    this.tellRoom();
  };

  private tellRoom(): void {
    if (!this.isNextFull) for (const resolve of this.whenRoom.splice(0)) resolve();
  }

  private isAbandoned({ message }: T): boolean {
    if (!message.ownership.isLost) return false;
    message.abandon();
    return true;
  }
}

function bytesOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, { message }) => sum + message.bytes, 0);
}
