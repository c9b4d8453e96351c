import { randomUUID } from 'node:crypto';

const LINGER_MS = 10;
const SENDS_AT_A_TIME = 3;
/** Well below the broker's limit for a batch. */
const OUTCOMES_A_SEND = 1000;

/** Writes an outcome such as the bridge's for each message, those of some milliseconds together. */
export async function outcomeTeller(kafka, topic, family) {
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: SENDS_AT_A_TIME });
  await producer.connect();
  const told = [];
  let sending = 0;
  setInterval(() => {
    while (told.length > 0 && sending < SENDS_AT_A_TIME) {
      const messages = told.splice(0, OUTCOMES_A_SEND);
      sending += 1;
      void producer.send({ topic, acks: -1, messages }).then(() => (sending -= 1));
    }
  }, LINGER_MS);
  return {
    tell: (taken) => {
      for (const { message, source } of taken) {
        told.push(outcome(family, message.machineId, source));
      }
    },
  };
}

function outcome(family, machineId, source) {
  return {
    key: machineId,
    value: JSON.stringify({ machineId, source, attempts: 1 }),
    headers: {
      ce_specversion: '1.0',
      ce_id: randomUUID(),
      ce_source: '/machine-bridge/bench',
      ce_type: `${family}.applied.v1`,
      ce_time: new Date().toISOString(),
      ce_subject: machineId,
      'content-type': 'application/json',
    },
  };
}
