import { randomUUID } from 'node:crypto';
import { abortable } from '#libs/clock';
import { type KafkaMessage } from '../client/kafka-port.js';
import { type OutboundRecord } from '../producer/outbound-record.js';
import { Completion } from '../reading/completion.js';
import { SilenceWatch } from '../reading/silence-watch.js';
import { type Repartition } from './repartition.js';

/** No machine or order is called this: ids hold no control characters. */
const MARK_KEY = '\u0000restore-mark';

/**
 * Reads one partition of a compacted topic from its beginning to a mark that was written after the
 * previous writer had been fenced, and on from there until others have handed over what belongs to it. Waiting for the mark rather than for an offset is what makes the
 * end certain: the last offsets of such a log are transaction markers, which no consumer is shown.
 */
export class Restore {
  readonly mark: OutboundRecord;
  private readonly id = randomUUID();
  private readonly texts = new Map<string, string>();
  private readonly passedMark = new Completion();
  private readonly ending = new Completion();
  private readonly silence: SilenceWatch;

  constructor(
    topic: string,
    partition: number,
    private readonly repartition?: Repartition,
  ) {
    this.mark = { topic, partition, key: MARK_KEY, value: this.id, headers: {} };
    this.silence = new SilenceWatch(() => {
      const awaited = this.passedMark.isOver ? this.repartition?.awaited.join(', ') : undefined;
      const before = awaited
        ? `partitions ${awaited} have handed over what belongs to it (has each an owner, of this version?)`
        : 'its mark';
      return `${topic}, partition ${partition}, before ${before}`;
    });
  }

  /** Takes records in the order of the log; false once it is at its end. */
  acceptRecords(records: readonly Pick<KafkaMessage, 'key' | 'value'>[]): boolean {
    this.silence.progressSeen();
    for (const { key, value } of records) {
      if (this.ending.isOver) return false;
      if (key === null) continue;
      const name = key.toString();
      if (name !== MARK_KEY) this.apply(name, value);
      else if (value?.toString() === this.id) this.passedMark.end();
      if (this.passedMark.isOver && this.repartition?.isOver !== false) this.endRestore();
    }
    return !this.ending.isOver;
  }

  /** Nothing is waited for that may come after the mark. */
  endRestore(): void {
    this.ending.end();
  }

  /** The values by key, as they are stored, once the mark has been passed; more may come. Throws as {@link finished}. */
  marked(signal: AbortSignal): Promise<Map<string, string>> {
    return this.reached(this.passedMark, signal);
  }

  /**
   * The values by key, as they are stored.
   *
   * @throws the signal's reason when it aborts first, or an Error when nothing has come for 30 s: the mark may
   *   be gone, as in a topic that was recreated or emptied
   */
  finished(signal: AbortSignal): Promise<Map<string, string>> {
    return this.reached(this.ending, signal);
  }

  private async reached(point: Completion, signal: AbortSignal): Promise<Map<string, string>> {
    const stopWatching = this.silence.start((error) => {
      point.end(error);
    });
    try {
      await abortable(point.reached, signal);
    } finally {
      stopWatching();
    }
    return this.texts;
  }

  private apply(key: string, value: Buffer | null): void {
    if (this.repartition?.acceptHandOver(key, value) === true) return;
    if (value === null) this.texts.delete(key);
    else this.texts.set(key, value.toString());
  }
}
