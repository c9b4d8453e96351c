import { randomUUID } from 'node:crypto';
import { abortable } from '#libs/clock';
import { type KafkaMessage } from '../kafkajs.js';
import { type OutboundRecord } from '../outbox/outbound-record.js';
import { Ending } from '../reading/ending.js';
import { SilenceWatch } from '../reading/silence-watch.js';

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
  private readonly ending = new Ending();
  private readonly silence: SilenceWatch;

  constructor(topic: string, partition: number) {
    this.mark = { topic, partition, key: MARK_KEY, value: this.id, headers: {} };
    this.silence = new SilenceWatch(() => `${topic}, partition ${partition}, before its mark`);
  }

  /** Takes records in the order of the log; false once the mark has been passed. */
  accept(records: readonly Pick<KafkaMessage, 'key' | 'value'>[]): boolean {
    this.silence.sign();
    for (const { key, value } of records) {
      if (this.ending.isOver) return false;
      if (key === null) continue;
      const name = key.toString();
      if (name !== MARK_KEY) this.apply(name, value);
      else if (value?.toString() === this.id) this.ending.end();
    }
    return !this.ending.isOver;
  }

  /**
   * The values by key, as they are stored.
   *
   * @throws the signal's reason when it aborts first, or an Error when nothing has come for 30 s: the mark may
   *   be no more, as in a topic that was made anew or emptied
   */
  async finished(signal: AbortSignal): Promise<Map<string, string>> {
    const stopWatching = this.silence.start((error) => {
      this.ending.end(error);
    });
    try {
      await abortable(this.ending.reached, signal);
    } finally {
      stopWatching();
    }
    return this.texts;
  }

  private apply(key: string, value: Buffer | null): void {
    if (value === null) this.texts.delete(key);
    else this.texts.set(key, value.toString());
  }
}
