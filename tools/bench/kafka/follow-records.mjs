import { randomUUID } from 'node:crypto';

/** Reads committed messages of a topic from its beginning, and calls `note` with each until it is stopped. */
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
