import { realDelayMs } from '#libs/clock';
import { type OutcomeSource } from '#libs/contracts';
import { backOffMs } from '#libs/delivery';
import { type KafkaClient, readSpans, type StoredRecord, topicSpans } from '#libs/messaging';

const BACK_OFF = { baseMs: 200, capMs: 5000 };

export interface ReadRecordOptions {
  groupIdPrefix: string;
  signal: AbortSignal;
}

/**
 * Reads one record where it lies; undefined when its topic no longer holds it. Goes on until Kafka
 * answers.
 *
 * @throws the signal's reason when it aborts before
 */
export async function readRecord(
  kafka: KafkaClient,
  place: Pick<OutcomeSource, 'topic' | 'partition' | 'offset'>,
  options: ReadRecordOptions,
): Promise<StoredRecord | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    options.signal.throwIfAborted();
    try {
      return await readOnce(kafka, place, options);
    } catch {
      await realDelayMs(backOffMs(attempt, BACK_OFF), options.signal);
    }
  }
}

async function readOnce(
  kafka: KafkaClient,
  { topic, partition, offset }: Pick<OutcomeSource, 'topic' | 'partition' | 'offset'>,
  options: ReadRecordOptions,
): Promise<StoredRecord | undefined> {
  const spans = await topicSpans(kafka, topic);
  const span = spans.find((each) => each.partition === partition);
  if (span === undefined || offset < span.from || offset >= span.until) return undefined;
  let found: StoredRecord | undefined;
  await readSpans(kafka, [{ topic, partition, from: offset, until: offset + 1 }], {
    ...options,
    onRecords: (records) => {
      found ??= records.find((record) => record.offset === offset);
    },
  });
  options.signal.throwIfAborted();
  return found;
}
