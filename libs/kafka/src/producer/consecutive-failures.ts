/** An operator is shown what fails for longer than this. */
const PROBLEM_AFTER_MS = 5000;

interface Failures {
  sinceMs: number;
  latestMs: number;
  count: number;
  why: string;
  topics: readonly string[];
}

/** What fails and is tried again, for as long as it fails. Pure: times are real milliseconds of one clock. */
export class ConsecutiveFailures {
  private run: Failures | undefined;

  /**
   * @param overAfterMs a failure that is so old is over, though nothing has succeeded since. Without it nothing else is
   * done before success: it goes on failing also while it is tried once more
   */
  constructor(private readonly overAfterMs = Infinity) {}

  /** Returns the failures in a row with this one, which had to do with these topics. */
  failed(nowMs: number, why: string, topics: readonly string[] = []): number {
    const { sinceMs, count } = this.current(nowMs) ?? { sinceMs: nowMs, count: 0 };
    this.run = { sinceMs, latestMs: nowMs, count: count + 1, why, topics };
    return count + 1;
  }

  /** Proves nothing where the latest failure had to do with yet another topic, which may be the one at fault. */
  succeeded(topics: ReadonlySet<string> = new Set()): void {
    if (this.run?.topics.every((topic) => topics.has(topic)) === true) this.run = undefined;
  }

  /** When the first of them was; undefined where there is none. */
  get sinceMs(): number | undefined {
    return this.run?.sinceMs;
  }

  /** Why it fails, in words, once it has gone on failing for a while. */
  problem(nowMs: number): string | undefined {
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
