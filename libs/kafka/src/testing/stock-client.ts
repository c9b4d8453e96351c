import { createRequire } from 'node:module';
import { readEnvironment } from '#libs/config';
import type * as Patched from '#libs/kafkajs-patches';

/** Of the broker that `npm test` has started. */
export const testBrokers = (readEnvironment()['KAFKA_BROKERS'] ?? '').split(',');

const { Kafka, logLevel } = createRequire(import.meta.url)('kafkajs-stock') as typeof Patched;
/**
 * kafkajs as it is published, in a copy that nothing patches. Specs write and read with it what the lib under test
 * reads and writes, so that no mistake of a patch hides behind the same one in the spec.
 */
export const stockKafka = new Kafka({ brokers: testBrokers, logLevel: logLevel.NOTHING });

/**
 * Each partition by a request of its own: of one request for several, kafkajs sends all again where one partition
 * refuses it, as one that has just been created does.
 */
export async function sendWithStock(topic: string, ...messages: Patched.Message[]): Promise<void> {
  const byPartition = new Map<number | undefined, Patched.Message[]>();
  for (const message of messages) {
    const known = byPartition.get(message.partition);
    if (known === undefined) byPartition.set(message.partition, [message]);
    else known.push(message);
  }
  const producer = stockKafka.producer();
  await producer.connect();
  try {
    for (const some of byPartition.values()) await producer.send({ topic, messages: some });
  } finally {
    await producer.disconnect();
  }
}
