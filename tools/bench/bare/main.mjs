// What kafkajs, axios and undici take by themselves, for comparison: messages become calls as they come, and calls
// become outcomes. It keeps no order, checks nothing, tries nothing again, and commits before it has called.
// Usage: node main.mjs <brokers> <input> <outcomes> <group> <service's URL> <port for /metrics> <family> <calls at a time>
import { createServer } from 'node:http';
import kafkajs from 'kafkajs';
import { collectDefaultMetrics, register } from 'prom-client';
import { callerOf } from './caller.mjs';
import { outcomeTeller } from './outcome-teller.mjs';

/** Messages that wait for a call before no more are taken. */
const MOST_WAITING = 4000;
const [brokers, input, outcomes, groupId, serviceUrl, port, family, callsAtATime] =
  process.argv.slice(2);
const most = Number(callsAtATime);

const kafka = new kafkajs.Kafka({ brokers: brokers.split(','), logLevel: kafkajs.logLevel.ERROR });
const { messagesACall, call } = callerOf(family, serviceUrl, most);
const teller = await outcomeTeller(kafka, outcomes, family);
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

async function eachBatch({ batch: { topic, partition, messages } }) {
  for (const { value, offset } of messages) {
    const source = { topic, partition, offset: Number(offset) };
    waiting.push({ message: JSON.parse(value), source });
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
  Number(port),
  '127.0.0.1',
);
process.on('SIGTERM', () => void consumer.disconnect().then(() => process.exit(0)));
