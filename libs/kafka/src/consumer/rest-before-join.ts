import { realEpochMs, realNowMs } from '#libs/clock';

interface Rest {
  /** Nothing is under way any more, or the deadline has passed. */
  isDone: boolean;
  done: Promise<void>;
  sinceMs: number;
  /** Real epoch milliseconds when it was done; infinitely late before. */
  doneEpochMs: number;
}

/**
 * Keeps this member from joining the group anew, and with that from handing its partitions on, while
 * calls are in flight for them: the new owner must not call a machine that the old one is still calling.
 */
export class RestBeforeJoin {
  private rest: Rest | undefined;

  /** @param comeToRest lets nothing new begin; resolves once nothing is under way, or after the deadline */
  constructor(
    private readonly comeToRest: (deadlineMs: number) => Promise<void>,
    private readonly deadlineMs: () => number,
  ) {}

  /** From the first sign of a rebalance until it is over. */
  get isWanted(): boolean {
    return this.rest !== undefined;
  }

  /** Real epoch milliseconds since when nothing keeps the member from joining; infinitely late before. */
  get doneEpochMs(): number {
    return this.rest?.doneEpochMs ?? Infinity;
  }

  /** Real milliseconds since that first sign; 0 while there was none. */
  get lastsMs(): number {
    return this.rest === undefined ? 0 : realNowMs() - this.rest.sinceMs;
  }

  begin(): Rest {
    if (this.rest !== undefined) return this.rest;
    const rest: Rest = {
      isDone: false,
      done: this.comeToRest(this.deadlineMs()),
      sinceMs: realNowMs(),
      doneEpochMs: Infinity,
    };
    void rest.done.finally(() => {
      rest.isDone = true;
      rest.doneEpochMs = realEpochMs();
    });
    this.rest = rest;
    return rest;
  }

  /** The rebalance is over: partitions are assigned, or the member is out of the group. */
  end(): void {
    this.rest = undefined;
  }

  /**
   * For the moment before joining, in which kafkajs waits for nothing: but it joins again and again
   * while it is told that the group is rebalancing.
   *
   * @throws an error of that kind until nothing is under way
   */
  assertAtRest(): void {
    if (this.begin().isDone) return;
    throw Object.assign(new Error('calls are still in flight'), { type: 'REBALANCE_IN_PROGRESS' });
  }
}
