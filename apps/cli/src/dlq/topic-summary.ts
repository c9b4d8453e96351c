import { REJECTION_CODES } from '#libs/contracts';
import { visibleJson } from '../command-line/output.js';
import type { DeadLetter } from './dead-letter.js';
import { timeText } from './format-dead-letter.js';

/** All codes that are not the bridge's, which may be any number of codes. */
const OTHER = 'other';

/** Counts of a dead-letter topic as a whole. */
export class TopicSummary {
  private readonly byCode = new Map<string, number>();
  private count = 0;
  private replayed = 0;
  private oldest = Infinity;
  private newest = -Infinity;

  constructor(private readonly topic: string) {}

  add({ fields, failedAt, replayedAt }: DeadLetter): void {
    const code = REJECTION_CODES.find((known) => known === fields.code) ?? OTHER;
    this.count += 1;
    this.byCode.set(code, (this.byCode.get(code) ?? 0) + 1);
    if (replayedAt !== undefined) this.replayed += 1;
    this.oldest = Math.min(this.oldest, failedAt);
    this.newest = Math.max(this.newest, failedAt);
  }

  get isEmpty(): boolean {
    return this.count === 0;
  }

  lines(): string[] {
    const { topic, count, replayed } = this;
    if (this.isEmpty) return [`${topic}: no dead letters`];
    return [
      `${topic}: ${count} dead letter${count === 1 ? '' : 's'}, ${replayed} replayed, ` +
        `the oldest of ${timeText(this.oldest)}, the newest of ${timeText(this.newest)}`,
      ...this.codes().map(([code, times]) => `  ${String(times).padStart(8)}  ${code}`),
    ];
  }

  json(): string {
    const { topic, count, replayed } = this;
    const byCode = Object.fromEntries(this.codes());
    const [oldest, newest] = this.isEmpty ? [null, null] : [this.oldest, this.newest];
    return visibleJson({ topic, count, replayed, byCode, oldest, newest });
  }

  /** The most frequent first. */
  private codes(): [code: string, times: number][] {
    return [...this.byCode].sort(([, a], [, b]) => b - a);
  }
}
