import { createRequire } from 'node:module';
import { passOverEmptyBatches } from './empty-batches.js';

const require = createRequire(import.meta.url);

type DecodeMessages = (decoder: unknown) => Promise<{ offset: string }[]>;

/** A record batch (magic 2) in which compaction has left nothing, as an answer to a fetch holds it. */
function answerOfEmptyBatch(firstOffset: bigint, lastOffsetDelta: number): Buffer {
  const HEADER_BYTES = 61;
  const batch = Buffer.alloc(HEADER_BYTES);
  batch.writeBigInt64BE(firstOffset, 0);
  batch.writeInt32BE(HEADER_BYTES - 12, 8);
  batch.writeInt8(2, 16);
  batch.writeInt32BE(lastOffsetDelta, 23);
  batch.writeInt32BE(0, 57);
  const size = Buffer.alloc(4);
  size.writeInt32BE(batch.length);
  return Buffer.concat([size, batch]);
}

describe('a record batch with nothing in it', () => {
  it('tells kafkajs where it ends, however often that is asked for', async () => {
    passOverEmptyBatches();
    passOverEmptyBatches();
    const Decoder = require('kafkajs/src/protocol/decoder.js') as new (bytes: Buffer) => object;
    const decode =
      require('kafkajs/src/protocol/requests/fetch/v4/decodeMessages.js') as DecodeMessages;
    const Batch = require('kafkajs/src/consumer/batch.js') as new (
      ...fetched: [topic: string, offset: string, data: object]
    ) => { isEmptyDueToFiltering: () => boolean; lastOffset: () => string };

    const messages = await decode(new Decoder(answerOfEmptyBatch(5n, 3)));
    const answer = { partition: 0, highWatermark: '100', abortedTransactions: [], messages };
    const batch = new Batch('a-topic', '6', answer);

    expect(messages).toHaveLength(1);
    expect(batch.isEmptyDueToFiltering()).toBe(true);
    expect(batch.lastOffset()).toBe('8');
  });
});
