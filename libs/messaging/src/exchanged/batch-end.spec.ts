import { createRequire } from 'node:module';
import { exchangeModules } from './exchange-modules.js';
import { encodeRecord } from './testing/encode-record.js';

const require = createRequire(import.meta.url);

type DecodeMessages = (decoder: unknown) => Promise<{ offset: string }[]>;

interface Batch {
  rawMessages: { offset: string }[];
  messages: { offset: string }[];
  isEmptyDueToFiltering: () => boolean;
  lastOffset: () => string;
}

/** An answer to a fetch: a record batch (magic 2) of offsets 5 to 8, of which these are left. */
function answerWith(...left: number[]): Buffer {
  const HEADER_BYTES = 61;
  const FIRST_OFFSET = 5;
  const records = left.map((offset) => {
    return encodeRecord({ offsetDelta: offset - FIRST_OFFSET, value: 'text' });
  });
  const batch = Buffer.concat([Buffer.alloc(HEADER_BYTES), ...records]);
  batch.writeBigInt64BE(BigInt(FIRST_OFFSET), 0);
  batch.writeInt32BE(batch.length - 12, 8);
  batch.writeInt8(2, 16);
  batch.writeInt32BE(3, 23);
  batch.writeInt32BE(records.length, 57);
  const size = Buffer.alloc(4);
  size.writeInt32BE(batch.length);
  return Buffer.concat([size, batch]);
}

describe('a record batch whose end compaction has taken', () => {
  const read = async (answer: Buffer): Promise<Batch> => {
    exchangeModules();
    exchangeModules();
    const Decoder = require('kafkajs/src/protocol/decoder.js') as new (bytes: Buffer) => object;
    const decode =
      require('kafkajs/src/protocol/requests/fetch/v4/decodeMessages.js') as DecodeMessages;
    const BatchOf = require('kafkajs/src/consumer/batch.js') as new (
      ...fetched: [topic: string, offset: string, data: object]
    ) => Batch;
    const messages = await decode(new Decoder(answer));
    const data = { partition: 0, highWatermark: '100', abortedTransactions: [], messages };
    return new BatchOf('a-topic', '6', data);
  };

  it.each([
    ['nothing', [], []],
    ['what has been read before', [5], []],
    ['a record', [6], ['6']],
  ])('tells kafkajs where it ends when %s is left in it', async (_, left, expected) => {
    const batch = await read(answerWith(...left));
    expect(batch.messages.map(({ offset }) => offset)).toEqual(expected);
    expect(batch.isEmptyDueToFiltering()).toBe(expected.length === 0);
    expect(batch.lastOffset()).toBe('8');
  });

  it('has its records read in our way', async () => {
    const { rawMessages } = await read(answerWith(6, 8));
    const [{ headers }] = rawMessages as [{ offset: string; headers: object }];
    expect(Object.getPrototypeOf(headers)).toBeNull();
  });

  it('gets no end beside its own when its last record is left', async () => {
    const { rawMessages } = await read(answerWith(6, 8));
    expect(rawMessages.map(({ offset }) => offset)).toEqual(['6', '8']);
  });
});
