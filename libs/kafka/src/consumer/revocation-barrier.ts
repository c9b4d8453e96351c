import { realEpochMs, realNowMs } from '#libs/clock';

interface Draining {
  /** No call is in flight, or the deadline has passed. */
  isDrained: boolean;
  drained: Promise<void>;
  sinceMs: number;
  /** Real epoch milliseconds; Infinity before. */
  drainedEpochMs: number;
}

/**
 * Keeps this member from joining the group again, which gives its partitions up, while calls are in flight for them: the
 * new owner must not call a machine that the old one is still calling. kafkajs has no hook for a revocation.
 *
 * *Lowered*, then *raised* from the first sign of a rebalance, *drained* once no call is in flight, and lowered again
 * with the assignment.
 */
export class RevocationBarrier {
  private current: Draining | undefined;

  /** @param drain lets no call begin; resolves once none is in flight, or after the deadline */
  constructor(
    private readonly drain: (deadlineMs: number) => Promise<void>,
    private readonly deadlineMs: () => number,
  ) {}

  /** From the first sign of a rebalance until it is over. */
  get isRaised(): boolean {
    return this.current !== undefined;
  }

  /** Real epoch milliseconds since when the member may join; Infinity before. */
  get drainedEpochMs(): number {
    return this.current?.drainedEpochMs ?? Infinity;
  }

  /** Real milliseconds since the barrier was raised; 0 while it is lowered. */
  get raisedForMs(): number {
    return this.current === undefined ? 0 : realNowMs() - this.current.sinceMs;
  }

  raiseBarrier(): Draining {
    if (this.current !== undefined) return this.current;
    const draining: Draining = {
      isDrained: false,
      drained: this.drain(this.deadlineMs()),
      sinceMs: realNowMs(),
      drainedEpochMs: Infinity,
    };
    void draining.drained.finally(() => {
      draining.isDrained = true;
      draining.drainedEpochMs = realEpochMs();
    });
    this.current = draining;
    return draining;
  }

  /** The rebalance is over: partitions are assigned, or the member is out of the group. */
  lowerBarrier(): void {
    this.current = undefined;
  }

  /**
   * For the moment before joining, in which kafkajs waits for nothing: but it joins again and again
   * while the answer is that the group is rebalancing.
   *
   * @throws an error of that kind until nothing is under way
   */
  assertDrained(): void {
    if (this.raiseBarrier().isDrained) return;
    throw Object.assign(new Error('calls are still in flight'), { type: 'REBALANCE_IN_PROGRESS' });
  }
}
