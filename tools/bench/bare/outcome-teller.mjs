import { randomUUID } from 'node:crypto';

const LINGER_MS = 10;
const SENDS_AT_A_TIME = 3;
/** Well below the broker's limit for a batch. */
const MESSAGES_A_SEND = 1000;

const FAMILIES = {
  reasons: 'downtime-reason',
  lists: 'work-order-list',
  orders: 'work-order-list',
};

/** Writes an outcome such as the bridge's for each message, those of some milliseconds together. */
export async function outcomeTeller(kafka, { kind, outcomes, state }) {
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: SENDS_AT_A_TIME });
  await producer.connect();
  const type = `${FAMILIES[kind]}.applied.v1`;
  const told = [];
  let sending = 0;
  setInterval(() => {
    while (told.length > 0 && sending < SENDS_AT_A_TIME) {
      const taken = told.splice(0, MESSAGES_A_SEND);
      const topicMessages = [
        { topic: outcomes, messages: taken.map((each) => outcome(type, each)) },
      ];
      if (kind === 'orders') topicMessages.push({ topic: state, messages: taken.flatMap(stateOf) });
      sending += 1;
      void producer.sendBatch({ topicMessages, acks: -1 }).then(() => (sending -= 1));
    }
  }, LINGER_MS);
  return { tell: (taken) => told.push(...taken) };
}

/** What has to be kept of an order: itself, and what it puts on its machine. */
function stateOf({ message }) {
  const { orderId, machineId } = message;
  return [
    { key: orderId, value: JSON.stringify(message) },
    { key: `${machineId}/${orderId}`, value: JSON.stringify({ orderId, machineId, sequence: 1 }) },
  ];
}

function outcome(type, { message: { machineId }, source }) {
  return {
    key: machineId,
    value: JSON.stringify({ machineId, source, attempts: 1 }),
    headers: {
      ce_specversion: '1.0',
      ce_id: randomUUID(),
      ce_source: '/machine-bridge/bench',
      ce_type: type,
      ce_time: new Date().toISOString(),
      ce_subject: machineId,
      'content-type': 'application/json',
    },
  };
}
