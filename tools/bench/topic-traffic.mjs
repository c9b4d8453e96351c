import { Partitioners } from 'kafkajs';

const AT_ONCE = 1000;

export async function createTopic(kafka, topic, numPartitions) {
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic, numPartitions }], waitForLeaders: true });
  await admin.disconnect();
}

/** Writes `count` messages, each made from its number. */
export async function produce(kafka, topic, count, message) {
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  await producer.connect();
  for (let first = 0; first < count; first += AT_ONCE) {
    const length = Math.min(AT_ONCE, count - first);
    const messages = Array.from({ length }, (_, index) => message(first + index));
    await producer.send({ topic, messages });
  }
  await producer.disconnect();
}

/** Reads a topic; `all` settles once `expected` records have come, `seconds` is the time from the first to the last. */
export async function countRecords(kafka, topic, expected) {
  const consumer = kafka.consumer({ groupId: `${topic}-count`, maxWaitTimeInMs: 50 });
  let count = 0;
  let firstMs = 0;
  let lastMs = 0;
  let done;
  const all = new Promise((resolve) => {
    done = resolve;
  });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await consumer.run({
    eachBatch: async ({ batch }) => {
      firstMs ||= performance.now();
      lastMs = performance.now();
      count += batch.messages.length;
      if (count >= expected) done();
    },
  });
  return { all, seconds: () => (lastMs - firstMs) / 1000, close: () => consumer.disconnect() };
}
