import { setTimeout as delay } from 'node:timers/promises';
import { Partitioners } from 'kafkajs';

const AT_ONCE = 5000;
const TICK_MS = 10;

/**
 * Writes `count` records, each made from its number, as fast as Kafka accepts them. Those sent at once must not exceed
 * a megabyte for any partition.
 */
export async function produce(kafka, topic, count, record, atOnce = AT_ONCE) {
  // kafkajs repeats a request that a busy broker answers too late; Kafka must not store its records twice
  const producer = await connect(kafka, { idempotent: true, maxInFlightRequests: 1 });
  for (let first = 0; first < count; first += atOnce) {
    await producer.send({
      topic,
      messages: batch(first, Math.min(atOnce, count - first), record),
    });
  }
  await producer.disconnect();
}

/** Writes the records numbered from `first` at an even pace, a few at a time every ten milliseconds. */
export async function producePaced(kafka, topic, { first, count, perSecond }, record) {
  const producer = await connect(kafka);
  const sends = [];
  const startMs = performance.now();
  for (let sent = 0; sent < count; await delay(TICK_MS)) {
    const due = Math.min(count, Math.ceil(((performance.now() - startMs) / 1000) * perSecond));
    if (due === sent) continue;
    // not awaited: one slow answer of the broker must not delay the records after it
    sends.push(producer.send({ topic, messages: batch(first + sent, due - sent, record) }));
    sent = due;
  }
  await Promise.all(sends);
  await producer.disconnect();
}

function batch(first, count, record) {
  return Array.from({ length: count }, (_, index) => record(first + index));
}

async function connect(kafka, options = {}) {
  const createPartitioner = Partitioners.DefaultPartitioner;
  const producer = kafka.producer({ createPartitioner, ...options });
  await producer.connect();
  return producer;
}
