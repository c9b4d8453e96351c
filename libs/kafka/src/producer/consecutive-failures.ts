/** Failures that go on for longer than this are shown to operators. */
const PROBLEM_AFTER_MS = 5000;

interface Failures {
  sinceMs: number;
  latestMs: number;
  count: number;
  why: string;
  topics: readonly string[];
}

/** A run of failures without a success in between. Pure: times are real milliseconds of one clock. */
export class ConsecutiveFailures {
  private run: Failures | undefined;

  /**
   * @param overAfterMs age at which the latest failure counts as over without a success. By default it never does:
   * the caller does nothing else until a retry succeeds
   */
  constructor(private readonly overAfterMs = Infinity) {}

  /** Records a failure that concerns these topics; returns the number of consecutive failures. */
  recordFailure(nowMs: number, why: string, topics: readonly string[] = []): number {
    const { sinceMs, count } = this.current(nowMs) ?? { sinceMs: nowMs, count: 0 };
    this.run = { sinceMs, latestMs: nowMs, count: count + 1, why, topics };
    return count + 1;
  }

  /** Ends the run, unless the latest failure concerned further topics, which may be at fault. */
  recordSuccess(topics: ReadonlySet<string> = new Set()): void {
    if (this.run?.topics.every((topic) => topics.has(topic)) === true) this.run = undefined;
  }

  /** Time of the first failure; undefined without failures. */
  get sinceMs(): number | undefined {
    return this.run?.sinceMs;
  }

  /** Reason of the latest failure, once failures have gone on for a while; otherwise undefined. */
  lastingProblem(nowMs: number): string | undefined {
    const run = this.current(nowMs);
    if (run === undefined) return undefined;
    const untilMs = this.overAfterMs === Infinity ? nowMs : run.latestMs;
    return untilMs - run.sinceMs >= PROBLEM_AFTER_MS ? run.why : undefined;
  }

  private current(nowMs: number): Failures | undefined {
    const { run, overAfterMs } = this;
    return run !== undefined && nowMs - run.latestMs <= overAfterMs ? run : undefined;
  }
}
