import { everyRealMs } from '#libs/clock';
import { type OwnedState, type PartedMessages, type StateChange } from '#libs/messaging';
import { type StoredAssignment } from './derive-assignments.js';

const LOOK_MS = 250;
/** No machine is called this, see `WATERMARK`. */
const PREFIX = '\u0000done\u0000';

/** By the offset of a record: a bit for each of its changes that is done, the lowest for the first. */
type DoneByOffset = ReadonlyMap<number, number>;

/**
 * Which changes of a record are done where others of it are not. The record is delivered again as a whole, and what
 * has been told of it must not be told again, by then perhaps otherwise. So that is noted beside the assignments, where
 * it lasts longer than a moment, and crossed out once the record has ended.
 */
export class DoneChanges {
  private noted = new Map<number, number>();
  private messages: PartedMessages | undefined;
  /** As they were at the last look. */
  private seen: DoneByOffset = new Map();
  private due: StateChange<StoredAssignment>[] = [];
  private stopLooking: (() => void) | undefined;

  /** @param flush writes {@link changes} although nothing else is to be written */
  constructor(private readonly flush: () => void) {}

  restored(state: OwnedState<StoredAssignment>): void {
    this.noted = new Map();
    for (const key of state.keys()) {
      const done = key.startsWith(PREFIX) ? state.get(key) : undefined;
      if (typeof done === 'number') this.noted.set(Number(key.slice(PREFIX.length)), done);
    }
    state.lost.addEventListener('abort', this.end, { once: true });
  }

  /** Whether an earlier owner has noted it as done. */
  isDone(offset: number, index: number): boolean {
    const done = this.noted.get(offset) ?? 0;
    return Math.floor(done / 2 ** index) % 2 === 1;
  }

  /** From now on these are looked at, until the partition is lost. */
  watch(messages: PartedMessages): void {
    this.messages = messages;
    this.stopLooking ??= everyRealMs(LOOK_MS, () => {
      this.look();
    });
  }

  /** What is to be noted, until {@link written} is told that it is. */
  changes(): readonly StateChange<StoredAssignment>[] {
    return this.due;
  }

  written(changes: readonly StateChange<StoredAssignment>[]): void {
    for (const [key, done] of changes) {
      const offset = Number(key.slice(PREFIX.length));
      if (typeof done === 'number') this.noted.set(offset, done);
      else this.noted.delete(offset);
      this.messages?.remembered(offset, (index) => this.isDone(offset, index));
    }
    // another look may have found more meanwhile
    if (changes === this.due) this.due = [];
  }

  private look(): void {
    const { messages } = this;
    if (messages === undefined) return;
    const seen = new Map<number, number>();
    const due: StateChange<StoredAssignment>[] = [];
    for (const [offset, indices] of messages.doneInPart()) {
      const done = indices.reduce((bits, index) => bits + 2 ** index, 0);
      seen.set(offset, done);
      if (this.seen.has(offset) && this.noted.get(offset) !== done) due.push([keyOf(offset), done]);
    }
    for (const offset of this.noted.keys()) {
      if (messages.isFinished(offset)) due.push([keyOf(offset), null]);
    }
    [this.seen, this.due] = [seen, due];
    if (due.length > 0) this.flush();
  }

  private readonly end = (): void => {
    this.stopLooking?.();
    [this.stopLooking, this.messages] = [undefined, undefined];
    [this.seen, this.due] = [new Map(), []];
  };
}

function keyOf(offset: number): string {
  return `${PREFIX}${offset}`;
}
