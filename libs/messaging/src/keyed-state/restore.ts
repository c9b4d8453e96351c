import { randomUUID } from 'node:crypto';
import { type KafkaMessage } from 'kafkajs';
import { abortable } from '#libs/clock';
import { type OutboundRecord } from '../outbox/outbound-record.js';

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

  constructor(topic: string, partition: number) {
    this.mark = { topic, partition, key: MARK_KEY, value: this.id, headers: {} };
    this.done = new Promise((resolve) => {
      this.markSeen = resolve;
    });
  }

  /** Takes records in the order of the log; false once the mark has been passed. */
  accept(messages: readonly KafkaMessage[]): boolean {
    for (const { key, value } of messages) {
      if (this.isDone) return false;
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
