/** What a call is made by, from its slot until it is sent. */
export interface CallPermit {
  /** Aborts when the call is to be cut off. */
  readonly signal: AbortSignal;
  /** Why the call may not begin any more, asked last of all: it has waited, or the process was suspended. */
  readonly objection: () => Error | undefined;
}

/** A rate limit, under which each call waits for its turn. */
export interface CallTurns {
  awaitTurn: (kind: 'command') => Promise<void>;
  /** A turn that has come is not used. */
  returnTurn: () => void;
}

interface Waiting {
  slots: number;
  onSlots: () => void;
}

/** So many tasks at once: whoever wants to begin one asks for a slot, or several, first come, first served. */
export class Semaphore {
  private readonly waiting: Waiting[] = [];
  /** Who is served next, the very first last: to shift tens of thousands would move all of them each time. */
  private upNext: Waiting[] = [];
  private inUse = 0;

  constructor(private readonly limit: number) {}

  get underWay(): number {
    return this.inUse;
  }

  /** Calls back with the slots, for {@link release} to give back; who asks for more than there are has all alone. */
  acquire(onSlots: () => void, slots = 1): void {
    this.waiting.push({ slots, onSlots });
    this.serve();
  }

  /** Takes a slot without waiting, and returns whether one was free for it. */
  tryAcquire(): boolean {
    if (this.first !== undefined || !this.isFree(1)) return false;
    this.inUse += 1;
    return true;
  }

  release(slots = 1): void {
    this.inUse -= slots;
    this.serve();
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    await new Promise<void>((resolve) => this.acquire(resolve));
    try {
      return await task();
    } finally {
      this.release();
    }
  }

  protected serve(): void {
    while (this.mayGive()) this.give();
  }

  protected mayGive(): boolean {
    return this.first !== undefined && this.isFree(this.first.slots);
  }

  private get first(): Waiting | undefined {
    return this.upNext.at(-1) ?? this.waiting[0];
  }

  protected isFree(slots: number): boolean {
    return this.inUse === 0 || this.inUse + slots <= this.limit;
  }

  protected give(): void {
    if (this.upNext.length === 0) this.upNext = this.waiting.splice(0).reverse();
    const next = this.upNext.pop();
    if (next === undefined) return;
    this.inUse += next.slots;
    next.onSlots();
  }
}

/**
 * The calls that may be under way at once, whatever flow they belong to. While paused, no call begins: partitions may be
 * on their way to another process, and the machines in them must not be called by two. Under a rate limit the first to
 * ask waits for a turn: it chooses what to send when it has the slot, which is then what is newest.
 */
export class CallSlots extends Semaphore {
  private isAwaitingTurn = false;
  private isPaused = false;
  private whenIdle: (() => void)[] = [];
  private mayBegin: () => boolean = () => true;
  private calls = new AbortController();
  permit: CallPermit = {
    signal: this.calls.signal,
    objection: () =>
      this.isOpen() ? undefined : new Error('the partition may belong to another process'),
  };

  constructor(
    limit: number,
    private readonly turns?: CallTurns,
  ) {
    super(limit);
  }

  /** Not under a rate limit, whose turn has to be waited for. */
  override tryAcquire(): boolean {
    return this.turns === undefined && super.tryAcquire();
  }

  /** Gives back a slot in which no call has been made. */
  releaseUnused(): void {
    this.turns?.returnTurn();
    this.release();
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    this.serve();
  }

  /** Asked before each call begins and again before it is sent; {@link wake} says that the answer has turned. */
  allowWhile(mayBegin: () => boolean): void {
    this.mayBegin = mayBegin;
  }

  wake(): void {
    this.serve();
  }

  cutOff(reason: Error): void {
    this.calls.abort(reason);
    this.calls = new AbortController();
    this.permit = { ...this.permit, signal: this.calls.signal };
  }

  /** Resolves once no call is under way; at once when none is. */
  idle(): Promise<void> {
    if (this.underWay === 0) return Promise.resolve();
    return new Promise((resolve) => this.whenIdle.push(resolve));
  }

  private isOpen(): boolean {
    return !this.isPaused && this.mayBegin();
  }

  protected override serve(): void {
    if (this.underWay === 0) for (const resolve of this.whenIdle.splice(0)) resolve();
    const { turns } = this;
    if (turns === undefined) {
      super.serve();
    } else if (!this.isAwaitingTurn && this.mayGive()) {
      this.isAwaitingTurn = true;
      void turns.awaitTurn('command').then(() => {
        this.isAwaitingTurn = false;
        // paused meanwhile, perhaps
        if (this.mayGive()) this.give();
        else turns.returnTurn();
        this.serve();
      });
    }
  }

  protected override isFree(slots: number): boolean {
    return super.isFree(slots) && this.isOpen();
  }
}
