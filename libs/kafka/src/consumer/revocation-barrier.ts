import { realEpochMs, realNowMs } from '#libs/clock';

interface Draining {
  /** Nothing is under way any more, or the deadline has passed. */
  isDrained: boolean;
  drained: Promise<void>;
  sinceMs: number;
  /** Real epoch milliseconds when it was done; infinitely late before. */
  drainedEpochMs: number;
}

/**
 * Keeps this member from joining the group anew, and with that from handing its partitions on, while
 * calls are in flight for them: the new owner must not call a machine that the old one is still calling.
 */
export class RevocationBarrier {
  private current: Draining | undefined;

  /** @param drain lets nothing new begin; resolves once nothing is under way, or after the deadline */
  constructor(
    private readonly drain: (deadlineMs: number) => Promise<void>,
    private readonly deadlineMs: () => number,
  ) {}

  /** From the first sign of a rebalance until it is over. */
  get isRaised(): boolean {
    return this.current !== undefined;
  }

  /** Real epoch milliseconds since when nothing keeps the member from joining; infinitely late before. */
  get drainedEpochMs(): number {
    return this.current?.drainedEpochMs ?? Infinity;
  }

  /** Real milliseconds since that first sign; 0 while there was none. */
  get raisedForMs(): number {
    return this.current === undefined ? 0 : realNowMs() - this.current.sinceMs;
  }

  raiseBarrier(): Draining {
    if (this.current !== undefined) return this.current;
    const rest: Draining = {
      isDrained: false,
      drained: this.drain(this.deadlineMs()),
      sinceMs: realNowMs(),
      drainedEpochMs: Infinity,
    };
    void rest.drained.finally(() => {
      rest.isDrained = true;
      rest.drainedEpochMs = realEpochMs();
    });
    this.current = rest;
    return rest;
  }

  /** The rebalance is over: partitions are assigned, or the member is out of the group. */
  lowerBarrier(): void {
    this.current = undefined;
  }

  /**
   * For the moment before joining, in which kafkajs waits for nothing: but it joins again and again
   * while it is told that the group is rebalancing.
   *
   * @throws an error of that kind until nothing is under way
   */
  assertDrained(): void {
    if (this.raiseBarrier().isDrained) return;
    throw Object.assign(new Error('calls are still in flight'), { type: 'REBALANCE_IN_PROGRESS' });
  }
}
