import { createRequire } from 'node:module';

const KAFKAJS_BATCH_DECODER = 'kafkajs/src/protocol/recordBatch/v0/decoder.js';

/** As much of a decoded record batch as kafkajs goes by when it says how far a fetch has come. */
interface DecodedBatch {
  firstOffset: string;
  lastOffsetDelta: number;
  records: { offset: string }[];
}

type Decode = (fetched: unknown) => Promise<DecodedBatch>;

const ours = new WeakSet();

/**
 * Makes kafkajs see the end of a record batch whose last records compaction has taken. Kafka keeps a batch with
 * nothing in it for what it says of its producer. kafkajs by itself takes an answer of such batches alone for the
 * end of the partition, and fetches the same for ever; one whose end alone is missing it fetches again for each
 * offset that is. Exchanged as the encoding is: before the first fetch makes it known to the rest of kafkajs.
 *
 * @throws Error when kafkajs is not laid out as the pinned version is
 */
export function passOverEmptyBatches(): void {
  const require = createRequire(import.meta.url);
  const decode: unknown = require(KAFKAJS_BATCH_DECODER);
  const module = require.cache[require.resolve(KAFKAJS_BATCH_DECODER)];
  if (typeof decode !== 'function' || module === undefined) {
    throw new Error(
      `kafkajs has another ${KAFKAJS_BATCH_DECODER} than the version this project pins`,
    );
  }
  if (ours.has(decode)) return;
  module.exports = withEnd(decode as Decode);
  ours.add(module.exports as Decode);
}

function withEnd(decode: Decode): Decode {
  return async (fetched) => {
    const batch = await decode(fetched);
    const end = String(BigInt(batch.firstOffset) + BigInt(batch.lastOffsetDelta));
    const { records } = batch;
    if (records.at(-1)?.offset === end) return batch;
    return { ...batch, records: [...records, endOf(batch, end)] };
  };
}

/** What nobody is shown, and moves the position all the same: like the marker of a transaction. */
function endOf(batch: DecodedBatch, offset: string): DecodedBatch['records'][number] {
  const marker = { isControlRecord: true, batchContext: batch };
  return { ...marker, ...{ offset, key: null, value: null, headers: {} } };
}
