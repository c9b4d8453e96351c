import { randomUUID } from 'node:crypto';

/** Reads a topic from its beginning on, what is committed of it, and calls `note` with each message until it is stopped. */
export async function followRecords({ kafka }, topic, note) {
  const consumer = kafka.consumer({ groupId: `${topic}-${randomUUID()}`, maxWaitTimeInMs: 100 });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch: { messages } }) => messages.forEach(note),
  });
  return { stop: () => consumer.disconnect() };
}
