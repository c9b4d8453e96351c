import { Logger } from '@nestjs/common';
import { type Kafka } from 'kafkajs';
import { abortable, realDelayMs } from '#libs/clock';
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
 * Waits until the bridge's own consumer has brought everything up to the mark. Should it stand still, as kafkajs
 * by itself does at record batches in which compaction has left nothing (decision 29), the rest is read by
 * another one.
 *
 * @throws when that brings no mark either, Kafka is away, or with the signal's reason when it aborts
 */
export async function readToMark(restore: Restore, reading: Reading): Promise<Map<string, string>> {
  // Ends with the read: whatever still waited for it would keep all that has been read in memory.
  const end = new AbortController();
  const signal = AbortSignal.any([reading.signal, end.signal]);
  try {
    const values = restore.finished(signal);
    const stands = stalled(restore, signal).then(
      () => true,
      () => false,
    );
    const hasToReadOn = await Promise.race([values.then(() => false), stands]);
    if (hasToReadOn) await readOn(restore, { ...reading, signal });
    return await values;
  } finally {
    end.abort(new Error('the read is over'));
  }
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
  const held = await abortable(topicSpans(kafka, topic), signal);
  const spans = held.filter((span) => span.partition === partition);
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
  signal.throwIfAborted();
  // The topic was made anew, or emptied, since the mark was written.
  if (!restore.isComplete) throw new Error('the mark of the restore is not in its topic');
}
