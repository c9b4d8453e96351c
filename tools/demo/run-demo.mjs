// The demo of npm start: an ERP and operators that write to Kafka, and a live log of the results.
import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Kafka, logLevel, Partitioners } from '#libs/kafkajs-patches';
import { narrator } from './narrate.mjs';
import { createErp } from './erp.mjs';
import { receiveCallbacks } from './erp-callbacks.mjs';
import { createOperators } from './operators.mjs';

const INTRODUCTION = `
What you see from here on: one second is a minute of the plant's time.
  state     the bridge saw a machine change and published it        (machine.state-changes.v1)
  list      a machine's work order list reached the service          (from erp.work-order-lists.v1, erp.work-orders.v1)
  reason    an operator's downtime reason reached the service        (from mes.downtime-reasons.v1)
  callback  ingest posted the outcome of its order to the ERP        (of the order that the ERP posted by HTTP)
  refused   a message the bridge kept as a dead letter               (….dlq)
`;

/**
 * Sends demo traffic and prints the live log until `signal` aborts.
 *
 * @param sinceMs epoch milliseconds; the log begins with records published from then on
 */
export async function runDemo({ brokers, sandboxUrl, clock, topicPrefix, sinceMs, ...others }) {
  const { ingestUrl, callbackPort, signal } = others;
  const kafka = new Kafka({
    clientId: 'demo',
    brokers: brokers.split(','),
    logLevel: logLevel.NOTHING,
  });
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  const groupId = `${topicPrefix}demo-${Date.now()}`;
  const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 100 });
  const machines = await readJson(`${sandboxUrl}/sandbox/machines`);
  const send = async (topic, key, value, headers = {}) => {
    const body =
      typeof value === 'string' || Buffer.isBuffer(value) ? value : JSON.stringify(value);
    await producer.send({
      topic: `${topicPrefix}${topic}`,
      messages: [{ key, value: body, headers }],
    });
  };
  const surroundings = { send, machines, clock, sandboxUrl, ingestUrl, signal, readJson };
  const erp = createErp(surroundings);
  const operators = createOperators(surroundings);
  const { narrate, calledBack } = narrator({
    ...{ ...surroundings, topicPrefix },
    print: (line) => console.log(line),
  });
  await receiveCallbacks({ port: callbackPort, print: calledBack, signal });

  // an operator at each stopped machine waits on the signal; records from before the demo come all at once
  setMaxListeners(0, signal);
  console.log(INTRODUCTION);
  await Promise.all([producer.connect(), consumer.connect()]);
  const topics = [
    'machine.state-changes.v1',
    'machine.command-outcomes.v1',
    'erp.work-orders.v1.dlq',
    'erp.work-order-lists.v1.dlq',
    'mes.downtime-reasons.v1.dlq',
  ].map((topic) => `${topicPrefix}${topic}`);
  await beginAt(kafka, groupId, topics, sinceMs);
  await consumer.subscribe({ topics });
  const joined = new Promise((resolve) => consumer.on(consumer.events.GROUP_JOIN, resolve));
  await consumer.run({
    eachMessage: async ({ topic, message }) => {
      const { key, headerList } = message;
      // with KAFKA_SCHEMA_REGISTRY_OUTPUTS, the id of a schema precedes the JSON
      const value = message.value?.[0] === 0 ? message.value.subarray(5) : message.value;
      const headers = Object.fromEntries(headerList);
      const record = { topic: topic.slice(topicPrefix.length), message: { key, value, headers } };
      await narrate(record).catch(() => undefined);
      await operators.onRecord(record).catch(() => undefined);
    },
  });
  await joined;
  signal.addEventListener('abort', () => {
    void consumer.disconnect();
    void producer.disconnect();
  });
  await Promise.all([erp.run(), operators.run()]);
  await delay(0x7fffffff, undefined, { signal }).catch(() => undefined);
}

/** Sets the group's offsets to the first records published from then on. */
async function beginAt(kafka, groupId, topics, sinceMs) {
  const admin = kafka.admin();
  await admin.connect();
  try {
    for (const topic of topics) {
      const partitions = await admin.fetchTopicOffsetsByTimestamp(topic, sinceMs);
      await admin.setOffsets({ groupId, topic, partitions });
    }
  } finally {
    await admin.disconnect();
  }
}

async function readJson(url, options) {
  const answer = await fetch(url, options);
  return answer.json();
}
