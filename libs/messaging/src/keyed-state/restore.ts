import { randomUUID } from 'node:crypto';
import { abortable } from '#libs/clock';
import { type OutboundRecord } from '../outbox/outbound-record.js';

/** A record as it is read, by whichever consumer. */
export interface RestoredRecord {
  key: Buffer | null;
  value: Buffer | null;
  offset: string | number;
}

/** No machine or order is called this: ids hold no control characters. */
const MARK_KEY = '\u0000restore-mark';

/**
 * Reads one partition of a compacted topic from its beginning to a mark that was written after the
 * previous writer had been fenced. Waiting for the mark rather than for an offset is what makes the
 * end certain: the last offsets of such a log are transaction markers, which no consumer is shown.
 */
export class Restore {
  readonly mark: OutboundRecord;
  private readonly id = randomUUID();
  private readonly texts = new Map<string, string>();
  private readonly done: Promise<void>;
  private markSeen: () => void = () => undefined;
  private isDone = false;
  private next = 0;

  constructor(topic: string, partition: number) {
    this.mark = { topic, partition, key: MARK_KEY, value: this.id, headers: {} };
    this.done = new Promise((resolve) => {
      this.markSeen = resolve;
    });
  }

  /** The offset after the last record taken. */
  get position(): number {
    return this.next;
  }

  /** Whether the mark has been seen. */
  get isComplete(): boolean {
    return this.isDone;
  }

  /** Takes records in the order of the log; false once the mark has been passed. */
  accept(records: readonly RestoredRecord[]): boolean {
    for (const { key, value, offset } of records) {
      if (this.isDone) return false;
      this.next = Number(offset) + 1;
      if (key === null) continue;
      const name = key.toString();
      if (name !== MARK_KEY) this.apply(name, value);
      else if (value?.toString() === this.id) {
        this.isDone = true;
        this.markSeen();
      }
    }
    return !this.isDone;
  }

  /** The values by key, as they are stored; rejects with the signal's reason when it aborts first. */
  async finished(signal: AbortSignal): Promise<Map<string, string>> {
    await abortable(this.done, signal);
    return this.texts;
  }

  private apply(key: string, value: Buffer | null): void {
    if (value === null) this.texts.delete(key);
    else this.texts.set(key, value.toString());
  }
}
