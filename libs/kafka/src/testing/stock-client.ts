import { createRequire } from 'node:module';
import { readEnvironment } from '#libs/config';
import type * as Patched from '#libs/kafkajs-patches';

/** Brokers that `npm test` has started. */
export const testBrokers = (readEnvironment()['KAFKA_BROKERS'] ?? '').split(',');

const { Kafka, logLevel } = createRequire(import.meta.url)('kafkajs-stock') as typeof Patched;
/**
 * kafkajs as published, in a copy that nothing patches. Specs write and read with it, so that no mistake of a patch
 * is hidden by the same mistake in the spec.
 */
export const stockKafka = new Kafka({ brokers: testBrokers, logLevel: logLevel.NOTHING });

/**
 * Sends one request for each partition: if a partition refuses its records, as a new one may, kafkajs resends those
 * of all partitions in the request.
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
