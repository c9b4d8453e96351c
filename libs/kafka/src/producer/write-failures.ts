import { realNowMs } from '#libs/clock';

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

/** A topic that transactions write to. */
interface WrittenTopic {
  topic: string;
  /** Why the topic, or one of its partitions, has refused records for a while; undefined if it has not. */
  problem: string | undefined;
}

/** A topic that took records since this long before the first failure is not suspected if another one can be. */
const FINE_MS = 15_000;

interface Writers {
  writtenMs: number;
  failing: Map<object, ConsecutiveFailures>;
}

/** Tracks which of the topics that transactions write to refuse records. */
export class TopicHealth {
  private readonly topics = new Map<string, Writers>();

  writeSucceeded(writer: object, topics: Iterable<string>): void {
    for (const topic of topics) {
      const writers = this.writersOf(topic);
      writers.writtenMs = realNowMs();
      writers.failing.delete(writer);
    }
  }

  /** Topics of a failed transaction that may be at fault: those that no writer has written to meanwhile. */
  suspects(writer: object, topics: ReadonlySet<string>): string[] {
    const writtenTopics = [...topics];
    const since = writtenTopics.map((topic) => this.writersOf(topic).failing.get(writer)?.sinceMs);
    const sinceMs = Math.min(realNowMs(), ...since.map((each) => each ?? Infinity));
    const fineMs = sinceMs - FINE_MS;
    const suspects = writtenTopics.filter((topic) => this.writersOf(topic).writtenMs < fineMs);
    return suspects.length === 0 ? writtenTopics : suspects;
  }

  /** Returns the number of consecutive failures; `topics` are all that the transaction was to write to. */
  writeFailed(
    writer: object,
    topics: ReadonlySet<string>,
    suspects: readonly string[],
    whyOf: (suspect: string) => string,
  ): number {
    let attempts = 1;
    for (const topic of topics) {
      const { failing } = this.writersOf(topic);
      if (!suspects.includes(topic)) {
        failing.delete(writer);
        continue;
      }
      const run = failing.get(writer) ?? new ConsecutiveFailures();
      failing.set(writer, run);
      attempts = Math.max(attempts, run.recordFailure(realNowMs(), whyOf(topic)));
    }
    return attempts;
  }

  forgetWriter(writer: object): void {
    for (const { failing } of this.topics.values()) failing.delete(writer);
  }

  writtenTopics(): WrittenTopic[] {
    const nowMs = realNowMs();
    return [...this.topics].map(([topic, { failing }]) => {
      const problems = [...failing.values()].flatMap((run) => run.lastingProblem(nowMs) ?? []);
      return { topic, problem: problems[0] };
    });
  }

  private writersOf(topic: string): Writers {
    let writers = this.topics.get(topic);
    if (writers === undefined) {
      this.topics.set(topic, (writers = { writtenMs: -Infinity, failing: new Map() }));
    }
    return writers;
  }
}
