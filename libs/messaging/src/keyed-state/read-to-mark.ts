import { Logger } from '@nestjs/common';
import { type Kafka } from 'kafkajs';
import { realDelayMs } from '#libs/clock';
import { readSpans } from '../reading/read-spans.js';
import { topicSpans } from '../reading/topic-span.js';
import { type Restore } from './restore.js';

/** Nothing read for so long, while the mark at least is still to be read. */
const STALL_MS = 3000;

interface Reading {
  kafka: Kafka;
  groupIdPrefix: string;
  /** Full name, prefix included. */
  topic: string;
  partition: number;
  signal: AbortSignal;
  /** Keeps the bridge's own consumer, which stands still, from fetching the partition. */
  putAside: () => void;
}

/**
 * Waits until the bridge's own consumer has brought everything up to the mark. Where compaction has left
 * record batches with nothing in them, kafkajs fetches the same for ever and tells of nothing: the rest
 * is then read in a way that gets past them.
 */
export async function readToMark(restore: Restore, reading: Reading): Promise<Map<string, string>> {
  const done = new AbortController();
  const values = restore.finished(reading.signal).finally(() => {
    done.abort();
  });
  const stands = stalled(restore, done.signal).then(
    () => true,
    () => false,
  );
  if (await Promise.race([values.then(() => false), stands])) await readOn(restore, reading);
  return values;
}

async function stalled(restore: Restore, signal: AbortSignal): Promise<void> {
  let before: number;
  do {
    before = restore.position;
    await realDelayMs(STALL_MS, signal);
  } while (restore.position !== before);
}

async function readOn(restore: Restore, reading: Reading): Promise<void> {
  const { kafka, groupIdPrefix, topic, partition, signal, putAside } = reading;
  const from = restore.position;
  new Logger('KeyedState').warn({ msg: 'restored by another consumer', topic, partition, from });
  putAside();
  const spans = (await topicSpans(kafka, topic)).filter((span) => span.partition === partition);
  await readSpans(
    kafka,
    spans.map((span) => ({ ...span, from: Math.max(span.from, from) })),
    {
      groupIdPrefix,
      signal,
      onRecords: (records) => {
        restore.accept(records);
      },
    },
  );
}
