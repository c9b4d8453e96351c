/** The conditions of a call, from its slot until it is sent. */
export interface CallPermit {
  /** Aborts when the call is to be cut off. */
  readonly signal: AbortSignal;
  /** Why the call may not be sent after all; checked last, because it has waited, or the process was suspended. */
  readonly objection: () => Error | undefined;
}

/** A rate limit, under which each call waits for its turn. */
interface CallTurns {
  awaitTurn: (kind: 'command') => Promise<void>;
  returnTurn: () => void;
}

interface Waiting {
  slots: number;
  onSlots: () => void;
}

/** Limits concurrent tasks. A task waits for one or several slots, in the order of requests. */
export class Semaphore {
  private readonly waiting: Waiting[] = [];
  /** The next requests in reverse order: `shift` on tens of thousands would move all of them each time. */
  private upNext: Waiting[] = [];
  private inUse = 0;

  constructor(private readonly limit: number) {}

  get underWay(): number {
    return this.inUse;
  }

  /** Calls back with the slots, to be returned by {@link release}. A request above the limit waits for all of them. */
  acquire(onSlots: () => void, slots = 1): void {
    this.waiting.push({ slots, onSlots });
    this.serve();
  }

  /** Acquires a slot if one is free; returns whether it did. */
  tryAcquire(): boolean {
    if (this.first !== undefined || !this.isFree(1)) return false;
    this.inUse += 1;
    return true;
  }

  release(slots = 1): void {
    this.inUse -= slots;
    this.serve();
  }

  async runTask<T>(task: () => Promise<T>): Promise<T> {
    await new Promise<void>((resolve) => this.acquire(resolve));
    try {
      return await task();
    } finally {
      this.release();
    }
  }

  protected serve(): void {
    while (this.mayGive()) this.giveNext();
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

  protected giveNext(): void {
    if (this.upNext.length === 0) this.upNext = this.waiting.splice(0).reverse();
    const next = this.upNext.pop();
    if (next === undefined) return;
    this.inUse += next.slots;
    next.onSlots();
  }
}

/**
 * Limits the concurrent calls of all flows. While paused, no call begins: partitions may be moving to another process,
 * and two processes must not call the same machine. Under a rate limit the first request waits for a turn, and the
 * caller chooses its batch only once it has the slot: the newest commands go.
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

  /** Never succeeds under a rate limit, where a call has to wait for its turn. */
  override tryAcquire(): boolean {
    return this.turns === undefined && super.tryAcquire();
  }

  /** Returns a slot in which no call has been made. */
  releaseUnused(): void {
    this.turns?.returnTurn();
    this.release();
  }

  pauseCalls(): void {
    this.isPaused = true;
  }

  resumeCalls(): void {
    this.isPaused = false;
    this.serve();
  }

  /** Sets a condition, checked before each call begins and again before it is sent. Changes need {@link recheckCondition}. */
  allowWhile(mayBegin: () => boolean): void {
    this.mayBegin = mayBegin;
  }

  recheckCondition(): void {
    this.serve();
  }

  cutOffCalls(reason: Error): void {
    this.calls.abort(reason);
    this.calls = new AbortController();
    this.permit = { ...this.permit, signal: this.calls.signal };
  }

  /** Resolves once no call is under way. */
  whenNoCalls(): Promise<void> {
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
        // The slots may have been paused meanwhile.
        if (this.mayGive()) this.giveNext();
        else turns.returnTurn();
        this.serve();
      });
    }
  }

  protected override isFree(slots: number): boolean {
    return super.isFree(slots) && this.isOpen();
  }
}
