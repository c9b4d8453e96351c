import { createRequire } from 'node:module';

const KAFKAJS_BATCH_DECODER = 'kafkajs/src/protocol/recordBatch/v0/decoder.js';

/** As much of a decoded record batch as kafkajs goes by when it says how far a fetch has come. */
interface DecodedBatch {
  firstOffset: string;
  lastOffsetDelta: number;
  records: object[];
}

type Decode = (fetched: unknown) => Promise<DecodedBatch>;

const ours = new WeakSet();

/**
 * Makes kafkajs see the end of a record batch in which compaction has left nothing. Kafka keeps such a batch
 * for what it says of its producer. kafkajs by itself takes an answer of such batches alone for the end of
 * the partition, and fetches the same for ever. Exchanged as the encoding is: before the first fetch makes
 * it known to the rest of kafkajs.
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
    return batch.records.length === 0 ? { ...batch, records: [endOf(batch)] } : batch;
  };
}

/** What nobody is shown, and moves the position all the same: like the marker of a transaction. */
function endOf(batch: DecodedBatch): object {
  const offset = BigInt(batch.firstOffset) + BigInt(batch.lastOffsetDelta);
  return {
    ...{ offset: String(offset), key: null, value: null, headers: {} },
    ...{ isControlRecord: true, batchContext: batch },
  };
}
