// What the bridge's libraries take by themselves, for comparison: messages become calls as they come, and calls
// become outcomes. It keeps no order, checks nothing, tries nothing again, and commits before it has called.
// Usage: node main.mjs <options, as JSON>, which are
//   brokers, input, outcomes          Kafka's addresses, topics
//   state, changes                    where orders are kept, and handed on to the partition of their machine
//   groupId, serviceUrl, port         the consumer's group, the service, where /metrics are
//   kind, calls                       `reasons`, `lists` or `orders`; calls at a time
//   isLeanest                         kafkajs with what the bridge exchanges in it, undici without axios
import { createServer } from 'node:http';
import { collectDefaultMetrics, register } from 'prom-client';
import { callerOf } from './caller.mjs';
import { outcomeWriter } from './outcome-writer.mjs';

/** Messages that wait for a call before no more are taken. */
const MOST_WAITING = 4000;
const options = JSON.parse(process.argv[2]);
const { brokers, input, changes, groupId, serviceUrl, port, kind, isLeanest } = options;
const most = options.calls;

const { Kafka, logLevel } = isLeanest
  ? await import('#libs/kafkajs-patches')
  : await import('kafkajs');
const kafka = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.ERROR });
const caller = { serviceUrl, connections: most, isThroughAxios: !isLeanest };
const { messagesACall, call } = callerOf(kind, caller);
const writer = await outcomeWriter(kafka, options);
const waiting = [];
let underWay = 0;
const resume = [];

function begin() {
  while (underWay < most && waiting.length > 0) {
    underWay += 1;
    const taken = waiting.splice(0, messagesACall);
    void call(taken.map(({ message }) => message)).then(() => {
      underWay -= 1;
      writer.publish(taken);
      begin();
    });
  }
  if (waiting.length < MOST_WAITING / 2) for (const go of resume.splice(0)) go();
}

/** An order is kept first, and its outcome written once it has come to the partition of its machine. */
function take(topic, message, source) {
  if (kind !== 'orders') return waiting.push({ message, source });
  if (topic === changes) return waiting.push({ message, source: message.source });
  const [{ machineId }] = message.operations;
  return writer.keep({ message: { ...message, machineId }, source });
}

async function eachBatch({ batch: { topic, partition, messages } }) {
  for (const { value, offset } of messages) {
    take(topic, JSON.parse(value), { topic, partition, offset: Number(offset) });
    if (waiting.length >= MOST_WAITING) {
      begin();
      await new Promise((resolve) => resume.push(resolve));
    }
  }
  begin();
}

const consumer = kafka.consumer({ groupId });
await consumer.connect();
const topics = kind === 'orders' ? [input, changes] : [input];
await consumer.subscribe({ topics, fromBeginning: true });
await consumer.run({ partitionsConsumedConcurrently: 6, autoCommitInterval: 500, eachBatch });

collectDefaultMetrics();
createServer(async (request, response) => response.end(await register.metrics())).listen(
  port,
  '127.0.0.1',
);
process.on('SIGTERM', () => void consumer.disconnect().then(() => process.exit(0)));
