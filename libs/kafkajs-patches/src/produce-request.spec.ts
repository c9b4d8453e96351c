import { createRequire } from 'node:module';
import { jest } from '@jest/globals';
import fc from 'fast-check';
import { anyCharacter } from './testing/records.js';
import {
  type KafkajsRequest,
  type MessageFields,
  type ProduceFields,
  produceRequest,
} from './produce-request.js';

const require = createRequire(import.meta.url);
const byKafkajs = require('kafkajs/src/protocol/requests/produce/v3/request.js') as (
  fields: ProduceFields,
) => KafkajsRequest;
const { Codecs } = require('kafkajs/src/protocol/message/compression/index.js') as {
  Codecs: Record<number, () => unknown>;
};

const NONE = 0;
const GZIP = 1;
const BACKWARDS = 2;
const MISSING = 3;

const text = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: anyCharacter, maxLength: 40 }),
  fc.string({ minLength: 100, maxLength: 9000 }),
);
const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
const part = fc.oneof(text, bytes);
const message: fc.Arbitrary<MessageFields> = fc.record(
  {
    key: fc.option(part),
    value: fc.option(part),
    headers: fc.dictionary(text, fc.oneof(part, fc.array(part, { maxLength: 3 })), { maxKeys: 9 }),
    timestamp: fc.nat({ max: 2 ** 42 }).map(String),
  },
  { requiredKeys: ['value'] },
);
const partition = fc.record(
  {
    partition: fc.oneof(fc.nat({ max: 100 }), fc.nat({ max: 100 }).map(String)),
    messages: fc.array(message, { maxLength: 4 }),
    firstSequence: fc.nat({ max: 2 ** 31 - 1 }),
  },
  { requiredKeys: ['partition', 'messages'] },
);
const topic = fc.record({
  topic: fc.string({ minLength: 1, maxLength: 249, unit: anyCharacter }),
  partitions: fc.array(partition, { maxLength: 3 }),
});
const fields: fc.Arbitrary<ProduceFields> = fc.record(
  {
    acks: fc.constantFrom(-1, 0, 1),
    timeout: fc.nat({ max: 2 ** 31 - 1 }),
    transactionalId: fc.option(fc.string({ minLength: 1, maxLength: 40 })),
    producerId: fc.oneof(fc.constant(-1), fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }).map(String)),
    producerEpoch: fc.nat({ max: 2 ** 15 - 1 }),
    compression: fc.constantFrom(NONE, NONE, GZIP, BACKWARDS),
    topicData: fc.array(topic, { maxLength: 3 }),
  },
  { requiredKeys: ['acks', 'timeout', 'topicData'] },
);
const one: MessageFields = { key: 'M-1', value: 'text', headers: { name: 'of a header' } };

const requestOf = (
  messages: MessageFields[],
  more: Partial<ProduceFields> = {},
): ProduceFields => ({
  acks: -1,
  timeout: 1000,
  topicData: [{ topic: 'topic', partitions: [{ partition: 0, messages }] }],
  ...more,
});

describe('a produce request', () => {
  beforeEach(() => {
    jest.spyOn(Date, 'now').mockReturnValue(1763680000123);
    Codecs[BACKWARDS] = () => ({
      compress: ({ buffer }: { buffer: Buffer }) => Promise.resolve(Buffer.from(buffer).reverse()),
    });
  });

  it('equals that of kafkajs byte for byte', async () => {
    expect(byKafkajs).not.toBe(produceRequest);
    await fc.assert(
      fc.asyncProperty(fields, async (given) => {
        const expected = await byKafkajs(given).encode();
        const { buffer } = await produceRequest(given).encode();
        expect(buffer.toString('hex')).toBe(expected.buffer.toString('hex'));
      }),
      { numRuns: 100 },
    );
  });

  it('does so also if it is larger than any before, and afterwards', async () => {
    const large = [one, { ...one, value: 'x'.repeat(3_000_000) }, one];
    for (const messages of [large, [one], large]) {
      const expected = await byKafkajs(requestOf(messages)).encode();
      const { buffer } = await produceRequest(requestOf(messages)).encode();
      expect(buffer.equals(expected.buffer)).toBe(true);
    }
  });

  it('has the same headers from a list as kafkajs has by name', async () => {
    const byName = fc.dictionary(text, fc.oneof(part, fc.array(part, { maxLength: 3 })));
    await fc.assert(
      fc.asyncProperty(byName, async (headers) => {
        const list = Object.entries(headers).flatMap(([name, values]) =>
          [values].flat().map((value) => [name, value] as const),
        );
        const expected = await byKafkajs(requestOf([{ value: 'v', headers }])).encode();
        const { buffer } = await produceRequest(
          requestOf([{ value: 'v', headers: list }]),
        ).encode();
        expect(buffer.toString('hex')).toBe(expected.buffer.toString('hex'));
      }),
    );
  });

  it.each([
    [-1, true],
    [0, false],
    [1, true],
  ])('with %i acknowledgements expects an answer: %s', (acks, expected) => {
    expect(produceRequest(requestOf([one], { acks })).expectResponse?.()).toBe(expected);
  });

  it.each([
    ['a value', { value: 5 }],
    ['a header', { value: 'v', headers: { name: undefined } }],
    ['a header in a list', { value: 'v', headers: [['name', 5]] }],
    ['one of several values of a header', { value: 'v', headers: { name: ['text', null] } }],
  ])('refuses %s that is neither text nor bytes', async (_, given) => {
    const request = produceRequest(requestOf([given as unknown as MessageFields]));
    await expect(request.encode()).rejects.toMatchObject({ name: 'UnencodableMessageError' });
  });

  it('fails when there is no codec for its compression, as with kafkajs', async () => {
    const given = requestOf([one], { compression: MISSING });
    for (const make of [byKafkajs, produceRequest]) {
      await expect(make(given).encode()).rejects.toMatchObject({ name: 'KafkaJSNotImplemented' });
    }
  });
});
