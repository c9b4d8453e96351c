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
export async function outcomeWriter(kafka, { kind, outcomes, state, changes }) {
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: SENDS_AT_A_TIME });
  await producer.connect();
  const type = `${FAMILIES[kind]}.applied.v1`;
  const applied = [];
  const kept = [];
  let sending = 0;
  const send = (topicMessages) => {
    sending += 1;
    void producer.sendBatch({ topicMessages, acks: -1 }).then(() => (sending -= 1));
  };
  setInterval(() => {
    while (applied.length > 0 && sending < SENDS_AT_A_TIME) {
      const taken = applied.splice(0, MESSAGES_A_SEND);
      const results = [{ topic: outcomes, messages: taken.map((each) => outcome(type, each)) }];
      if (kind === 'orders') results.push({ topic: state, messages: taken.map(assignmentOf) });
      send(results);
    }
    while (kept.length > 0 && sending < SENDS_AT_A_TIME) {
      const taken = kept.splice(0, MESSAGES_A_SEND);
      send([
        { topic: state, messages: taken.map(orderOf) },
        { topic: changes, messages: taken.map(changeOf) },
      ]);
    }
  }, LINGER_MS);
  return {
    publish: (taken) => applied.push(...taken),
    /** Keeps an order, and writes its change to the partition of its machine. */
    keep: (order) => kept.push(order),
  };
}

function orderOf({ message }) {
  return { key: message.orderId, value: JSON.stringify(message) };
}

function changeOf({ message: { orderId, machineId }, source }) {
  return { key: machineId, value: JSON.stringify({ orderId, machineId, source }) };
}

function assignmentOf({ message: { orderId, machineId } }) {
  return {
    key: `${machineId}/${orderId}`,
    value: JSON.stringify({ orderId, machineId, sequence: 1 }),
  };
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
