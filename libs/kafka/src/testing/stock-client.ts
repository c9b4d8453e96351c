import { createRequire } from 'node:module';
import { readEnvironment } from '#libs/config';
import type * as Patched from '#libs/kafkajs-patches';

/** Of the broker that `npm test` has started. */
export const testBrokers = (readEnvironment()['KAFKA_BROKERS'] ?? '').split(',');

const { Kafka, logLevel } = createRequire(import.meta.url)('kafkajs-stock') as typeof Patched;
/**
 * kafkajs as it is published, in a copy that nothing patches. Specs write and read with it what the lib under test reads
 * and writes, so that no mistake of a patch hides behind the same one in the spec.
 */
export const stockKafka = new Kafka({ brokers: testBrokers, logLevel: logLevel.NOTHING });

export async function sendWithStock(topic: string, ...messages: Patched.Message[]): Promise<void> {
  const producer = stockKafka.producer();
  await producer.connect();
  await producer.send({ topic, messages }).finally(() => producer.disconnect());
}
