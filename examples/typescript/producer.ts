// Gives a machine a list of work orders: node producer.js MACHINE ORDER...
import { TOPICS } from '@machine-bridge/contracts';
import type { WorkOrderListMessage } from '@machine-bridge/contracts/inputs';
import { randomUUID } from 'node:crypto';
import kafkajs from 'kafkajs';

const [machineId = 'M-001', ...workingOrders] = process.argv.slice(2);
const prefix = process.env.KAFKA_TOPIC_PREFIX ?? '';
const brokers = (process.env.KAFKA_BROKERS ?? '127.0.0.1:9092').split(',');
const kafka = new kafkajs.Kafka({ brokers, logLevel: kafkajs.logLevel.NOTHING });
const producer = kafka.producer();
const message: WorkOrderListMessage = { machineId, workingOrders };
/** The outcome of the list has this id as `source.messageId`. */
const messageId = randomUUID();

await producer.connect();
await producer.send({
  topic: `${prefix}${TOPICS.workOrderLists}`,
  // the key keeps the lists of a machine in order
  messages: [
    { key: machineId, value: JSON.stringify(message), headers: { 'message-id': messageId } },
  ],
});
await producer.disconnect();
console.log(JSON.stringify({ messageId }));
