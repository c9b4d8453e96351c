import { randomUUID } from 'node:crypto';
import { endOffsets } from './topics.mjs';

// records come at once; after the marker of a transaction, which is not a record, nothing comes
const SILENCE_MS = 3000;

/**
 * Reads a topic up to its present end, from its beginning or from one offset per partition. Yields `map({partition,
 * message})` of each record.
 */
export async function readRecords({ kafka, admin }, topic, map, from = []) {
  const ends = await endOffsets(admin, topic);
  const missing = new Set(
    [...ends.keys()].filter((partition) => (from[partition] ?? 0) < ends[partition]),
  );
  const read = [];
  if (missing.size === 0) return read;
  const consumer = await subscribe(kafka, topic);
  const end = afterSilence();
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch: { partition, messages } }) => {
      end.postpone();
      for (const message of messages) read.push(map({ partition, message }));
      if (Number(messages.at(-1)?.offset) >= ends[partition] - 1) missing.delete(partition);
      if (missing.size === 0) end.now();
    },
  });
  for (const partition of missing) {
    consumer.seek({ topic, partition, offset: String(from[partition] ?? 0) });
  }
  await end.come;
  await consumer.disconnect();
  return read;
}

/** Reads committed messages of a topic from its beginning, and calls `note` with each until it is stopped. */
export async function followRecords({ kafka }, topic, note) {
  const consumer = await subscribe(kafka, topic);
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch: { messages } }) => messages.forEach(note),
  });
  return { stop: () => consumer.disconnect() };
}

async function subscribe(kafka, topic) {
  const consumer = kafka.consumer({ groupId: `${topic}-${randomUUID()}`, maxWaitTimeInMs: 100 });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  return consumer;
}

function afterSilence() {
  const end = {};
  end.come = new Promise((resolve) => (end.now = resolve));
  const timer = setTimeout(end.now, 5 * SILENCE_MS);
  end.postpone = () => timer.refresh();
  void end.come.then(() => clearTimeout(timer));
  return end;
}
