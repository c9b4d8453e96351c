import { REJECTION_CODES } from '#libs/contracts';
import { timeText } from './letter-line.js';
import { type StoredLetter } from './stored-letter.js';
import { visibleJson } from '../command-line/visible-text.js';

/** Not a code of the bridge: together, because somebody else's may be any number of codes. */
const OTHER = 'other';

/** What there is to say of a dead-letter topic as a whole. */
export class Overview {
  private readonly byCode = new Map<string, number>();
  private count = 0;
  private replayed = 0;
  private oldest = Infinity;
  private newest = -Infinity;

  constructor(private readonly topic: string) {}

  add({ fields, failedAt, replayedAt }: StoredLetter): void {
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
      ...this.codes().map(([code, letters]) => `  ${String(letters).padStart(8)}  ${code}`),
    ];
  }

  json(): string {
    const { topic, count, replayed } = this;
    const times = this.isEmpty ? [null, null] : [this.oldest, this.newest];
    const [oldest, newest] = times;
    return visibleJson({
      topic,
      count,
      replayed,
      byCode: Object.fromEntries(this.codes()),
      oldest,
      newest,
    });
  }

  /** The most frequent first. */
  private codes(): [code: string, letters: number][] {
    return [...this.byCode].sort(([, a], [, b]) => b - a);
  }
}
