import { Logger } from '@nestjs/common';
import { realEpochMs } from '#libs/clock';

/** Something to be told of a message. */
export interface Statement {
  /** Begins to tell it; {@link Telling.ended} is to hear when that is over. */
  tell(): void;
  /** Called instead when the partition was lost before. */
  giveUp(): void;
}

/**
 * Whether what became of a partition's messages may be told now. The last commit may say that nothing is
 * told any more: then whoever owned the partition after a crash would not look for it. Opened and closed
 * by the inbox; whatever comes about while it is closed waits, and is given up when the partition is lost.
 * It waits as well while another process may own the partition by now, as after this one was suspended: that
 * one may have told something else.
 */
export class Telling {
  private readonly logger = new Logger('Telling');
  /** Called when something is to be told for the first time since it may not be. */
  onAwaited: () => void = () => undefined;
  private isOpen = true;
  private isOver = false;
  /** With when it began, in epoch milliseconds; a map keeps the order of insertion: the first is the oldest. */
  private readonly underWay = new Map<Statement, number>();
  /** Messages of which some is told and some is not, with a time before which nothing of them was. */
  private readonly inPart = new Map<object, number>();
  private readonly waiting: Statement[] = [];
  /** Begun, and on the way to what they tell. */
  private readonly heldUp: { resolve: () => void; reject: (lost: Error) => void }[] = [];
  private readonly whenQuiet: (() => void)[] = [];
  private mayTell: () => boolean = () => true;

  /** Tells it as soon as that may be. */
  begin(statement: Statement): void {
    if (this.isOpen && this.mayTell()) this.go(statement);
    else if (this.isOver) statement.giveUp();
    else this.wait(statement);
  }

  /** The statement is told, or cannot be; its message has ended as well: until then it is not in a commit. */
  ended(statement: Statement): void {
    if (!this.underWay.delete(statement) || this.underWay.size > 0) return;
    for (const resolve of this.whenQuiet.splice(0)) resolve();
  }

  /** Nothing is told in part, nor will anything be before {@link open}. */
  get isQuiet(): boolean {
    return !this.isOpen && this.underWay.size + this.inPart.size === 0;
  }

  /** Epoch milliseconds since when something may have been told in part; undefined when nothing was. */
  get inPartSinceMs(): number | undefined {
    const [oldest = Infinity] = this.underWay.values();
    const sinceMs = Math.min(oldest, ...this.inPart.values());
    return sinceMs === Infinity ? undefined : sinceMs;
  }

  /**
   * Of a message that tells several things some is told: until {@link settled} its commit does not say so.
   *
   * @param sinceMs epoch milliseconds; nothing of it was told before
   */
  toldInPart(message: object, sinceMs: number): void {
    this.inPart.set(message, sinceMs);
  }

  /** All of it is told, or what is told is remembered. */
  settled(message: object): void {
    this.inPart.delete(message);
  }

  /** Resolves once what has begun has ended. */
  async close(): Promise<void> {
    this.isOpen = false;
    if (this.underWay.size > 0) await new Promise<void>((resolve) => this.whenQuiet.push(resolve));
  }

  /** Has no effect once the partition is lost: it may be another's by now. */
  open(): void {
    if (this.isOver) return;
    this.isOpen = true;
    this.wake();
  }

  /** Asked before each statement; where the answer has turned since, {@link wake} says so. */
  allowWhile(mayTell: () => boolean): void {
    this.mayTell = mayTell;
  }

  wake(): void {
    if (this.waiting.length + this.heldUp.length === 0 || !this.mayTell()) return;
    for (const { resolve } of this.heldUp.splice(0)) resolve();
    if (this.isOpen) for (const statement of this.waiting.splice(0)) this.go(statement);
  }

  /**
   * For what takes a while to tell, before each thing it says: resolves once that may be said.
   *
   * @throws when the partition is lost before
   */
  async stillAllowed(): Promise<void> {
    if (this.mayTell()) return;
    if (this.isOver) throw lost();
    await new Promise<void>((resolve, reject) => this.heldUp.push({ resolve, reject }));
  }

  /** The partition is lost. What has not been held up may be told to the end: a stop waits for it. */
  end(): void {
    this.isOver = true;
    for (const statement of this.waiting.splice(0)) statement.giveUp();
    for (const { reject } of this.heldUp.splice(0)) reject(lost());
  }

  private wait(statement: Statement): void {
    this.waiting.push(statement);
    if (this.waiting.length === 1) this.onAwaited();
  }

  private go(statement: Statement): void {
    this.underWay.set(statement, realEpochMs());
    try {
      statement.tell();
    } catch (error) {
      // A bug of ours: neither the statements behind it nor a rest wait for it.
      this.logger.error({ msg: 'not told', err: error });
      this.ended(statement);
    }
  }
}

function lost(): Error {
  return new Error('the partition is lost, and another process may have told something else');
}
