// Prints each state change and each outcome once, as a JSON line.
import { OUTCOME_TYPES, STATE_EVENT_TYPES, TOPICS } from '@machine-bridge/contracts';
import type { CommandOutcome, StateChanged } from '@machine-bridge/contracts';
import kafkajs from 'kafkajs';

const prefix = process.env.KAFKA_TOPIC_PREFIX ?? '';
const brokers = (process.env.KAFKA_BROKERS ?? '127.0.0.1:9092').split(',');
const kafka = new kafkajs.Kafka({ brokers, logLevel: kafkajs.logLevel.ERROR });
// kafkajs reads only committed records, except some of overlapping transactions: docs/kafka.md, Reading the outputs.
const consumer = kafka.consumer({ groupId: `${prefix}example-typescript` });
/** The latest ids, oldest first: a duplicate comes soon after its original. */
const seen = new Set<string>();

function isNew(id: string): boolean {
  if (seen.has(id)) return false;
  seen.add(id);
  if (seen.size > 100_000) seen.delete(seen.values().next().value as string);
  return true;
}

function describe(type: string, value: string): object {
  if (type === STATE_EVENT_TYPES.changed) {
    const { machineId, state, startTime } = JSON.parse(value) as StateChanged;
    return { machineId, state, startTime };
  }
  if ((Object.values(OUTCOME_TYPES) as string[]).includes(type)) {
    const { machineId, code, source } = JSON.parse(value) as CommandOutcome;
    return { machineId, code, messageId: source.messageId };
  }
  return {};
}

await consumer.connect();
await consumer.subscribe({
  topics: [`${prefix}${TOPICS.stateChanges}`, `${prefix}${TOPICS.commandOutcomes}`],
  fromBeginning: true,
});
await consumer.run({
  eachMessage: async ({ message: { headers, value } }) => {
    const id = String(headers?.ce_id);
    const type = String(headers?.ce_type);
    if (isNew(id)) console.log(JSON.stringify({ id, type, ...describe(type, String(value)) }));
  },
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void consumer.disconnect());
}
