// What the bridge's libraries take by themselves, for comparison: messages become calls as they come, and calls
// become outcomes. It keeps no order, checks nothing, tries nothing again, and commits before it has called.
// Usage: node main.mjs <options, as JSON>, which are
//   brokers, input, outcomes, state   Kafka's addresses, topics; in `state` orders are kept
//   groupId, serviceUrl, port         the consumer's group, the service, where /metrics are
//   kind, calls                       `reasons`, `lists` or `orders`; calls at a time
//   isLeanest                         kafkajs with what the bridge exchanges in it, undici without axios
import { createServer } from 'node:http';
import { collectDefaultMetrics, register } from 'prom-client';
import { callerOf } from './caller.mjs';
import { outcomeTeller } from './outcome-teller.mjs';

/** Messages that wait for a call before no more are taken. */
const MOST_WAITING = 4000;
const EXCHANGED = '../../../dist/libs/messaging/src/kafkajs.js';
const options = JSON.parse(process.argv[2]);
const { brokers, input, groupId, serviceUrl, port, kind, isLeanest } = options;
const most = options.calls;

const { Kafka, logLevel } = isLeanest ? await import(EXCHANGED) : (await import('kafkajs')).default;
const kafka = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.ERROR });
const caller = { serviceUrl, connections: most, isThroughAxios: !isLeanest };
const { messagesACall, call } = callerOf(kind, caller);
const teller = await outcomeTeller(kafka, options);
const waiting = [];
let underWay = 0;
const resume = [];

function begin() {
  while (underWay < most && waiting.length > 0) {
    underWay += 1;
    const taken = waiting.splice(0, messagesACall);
    void call(taken.map(({ message }) => message)).then(() => {
      underWay -= 1;
      teller.tell(taken);
      begin();
    });
  }
  if (waiting.length < MOST_WAITING / 2) for (const go of resume.splice(0)) go();
}

/** An order is told of the machine it is for. */
function read(value) {
  const message = JSON.parse(value);
  return kind === 'orders' ? { ...message, machineId: message.operations[0].machineId } : message;
}

async function eachBatch({ batch: { topic, partition, messages } }) {
  for (const { value, offset } of messages) {
    waiting.push({ message: read(value), source: { topic, partition, offset: Number(offset) } });
    if (waiting.length >= MOST_WAITING) {
      begin();
      await new Promise((resolve) => resume.push(resolve));
    }
  }
  begin();
}

const consumer = kafka.consumer({ groupId });
await consumer.connect();
await consumer.subscribe({ topics: [input], fromBeginning: true });
await consumer.run({ partitionsConsumedConcurrently: 6, autoCommitInterval: 500, eachBatch });

collectDefaultMetrics();
createServer(async (request, response) => response.end(await register.metrics())).listen(
  port,
  '127.0.0.1',
);
process.on('SIGTERM', () => void consumer.disconnect().then(() => process.exit(0)));
