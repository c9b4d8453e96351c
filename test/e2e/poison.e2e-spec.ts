import { TOPICS } from '#libs/contracts';
import { Answers } from '../support/chaos/answers.js';
import { ChaosPlant } from '../support/chaos/chaos-plant.js';
import { deliveryFaults } from '../support/chaos/delivery.js';
import { untilReady } from '../support/health.js';
import { eventually } from '../support/eventually.js';
import type { PartitionedProducer } from '../support/partitioned-producer.js';
import { type PoisonMessage, POISONED_TOPICS } from '../support/poison/poison-message.js';
import { POISON_CORPUS } from '../support/poison-corpus.js';
import type { ReadRecord, TopicReader } from '../support/topic-reader.js';

/** Valid messages before each hostile one. */
const LISTS_A_STEP = 10;
const REASONS_A_STEP = 9;

/** A hostile message as it was sent. */
interface Sent {
  messageId: string;
  key: string;
  poison: PoisonMessage;
}

describe('hostile messages among valid ones', () => {
  const hostile: Sent[] = [];
  let plant: ChaosPlant;
  let bridgeUrl: string;
  let answers: Answers;
  let deadLetters: TopicReader;
  let producer: PartitionedProducer;

  beforeAll(async () => {
    plant = await ChaosPlant.open();
    const { load, kafka } = plant;
    bridgeUrl = await plant.startBridge().ready();
    answers = new Answers(await kafka.read(TOPICS.commandOutcomes));
    producer = await kafka.steadyProducer();
    deadLetters = await kafka.read(
      ...Object.values(POISONED_TOPICS).map((topic) => `${topic}.dlq`),
    );
    for (const [step, poison] of POISON_CORPUS.entries()) {
      await load.send(machinesOf(step * LISTS_A_STEP, LISTS_A_STEP), ['list']);
      await load.send(machinesOf(step * REASONS_A_STEP, REASONS_A_STEP), ['reason']);
      await sendHostile(step, poison);
    }
    const ids = [...load.messageIds, ...hostile.map(({ messageId }) => messageId)];
    await answers.untilAll(ids);
    await eventually('all dead letters', () => deadLetters.records.length >= hostile.length);
  });

  afterAll(() => plant.close());

  const machinesOf = (first: number, count: number): string[] => {
    const { machineIds } = plant.load;
    return Array.from({ length: count }, (_, index) => {
      return machineIds[(first + index) % machineIds.length]!;
    });
  };

  const sendHostile = async (step: number, poison: PoisonMessage): Promise<void> => {
    const [key] = machinesOf(step, 1);
    const sent = { messageId: `poison-${step}`, key: key!, poison };
    const headers = { ...poison.headers, 'message-id': sent.messageId };
    const topic = `${plant.kafka.topicPrefix}${POISONED_TOPICS[poison.topic]}`;
    await producer.send({ topic, messages: [{ key: sent.key, value: poison.value, headers }] });
    hostile.push(sent);
  };

  const deadLettersOf = (messageId: string): ReadRecord[] =>
    deadLetters.records.filter(({ headers }) => headers['message-id']?.toString() === messageId);

  it('let every valid one be applied in order', async () => {
    expect(deliveryFaults(plant.load, await plant.sandbox.allCalls())).toEqual([]);
  });

  it('become dead letters, each once and byte for byte', () => {
    for (const { messageId, key, poison } of hostile) {
      const [deadLetter, ...others] = deadLettersOf(messageId);
      expect([poison.name, deadLetter?.topic, others]).toEqual([
        poison.name,
        `${POISONED_TOPICS[poison.topic]}.dlq`,
        [],
      ]);
      expect(deadLetter!.key?.toString()).toBe(key);
      // Not toEqual: it takes half a minute to print the difference of a megabyte.
      expect([poison.name, isSame(deadLetter!.value, poison.value)]).toEqual([poison.name, true]);
      for (const [name, value] of Object.entries(poison.headers ?? {})) {
        // kafkajs puts an inherited property of that name before the header
        expect([deadLetter!.headers[name]].flat().at(-1)?.toString()).toBe(value);
      }
      expect(deadLetter!.headers['dlq-code']?.toString()).toBe(poison.expectedCode);
    }
  });

  it('cause no other dead letter', async () => {
    const counts = Object.values(POISONED_TOPICS).map((topic) =>
      plant.kafka.topics.count(`${topic}.dlq`),
    );
    const sum = (await Promise.all(counts)).reduce((total, count) => total + count, 0);
    expect(sum).toBe(hostile.length);
  });

  it('get one outcome each', () => {
    expect(answers.repetitions()).toEqual([]);
    for (const { messageId, poison } of hostile) {
      const types = new Set(answers.finalOf(messageId).map(({ type }) => type));
      const family = poison.topic === 'reasons' ? 'downtime-reason' : 'work-order-list';
      expect([poison.name, ...types]).toEqual([poison.name, `${family}.rejected.v1`]);
    }
  });

  it('leave the bridge ready', async () => {
    await untilReady(bridgeUrl);
  });
});

function isSame(value: Buffer | null, other: Buffer | null): boolean {
  return value === null || other === null ? value === other : value.equals(other);
}
