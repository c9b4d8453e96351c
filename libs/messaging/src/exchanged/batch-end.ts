import { type DecodedBatch, type Fetched } from './decode-batch.js';

type DecodeBatch = (fetched: Fetched) => Promise<DecodedBatch>;

/**
 * Makes kafkajs see the end of a record batch whose last records compaction has taken. Kafka keeps a batch with
 * nothing in it for what it says of its producer. kafkajs by itself takes an answer of such batches alone for the
 * end of the partition, and fetches the same for ever; one whose end alone is missing it fetches again for each
 * offset that is.
 */
export function withEnd(decode: DecodeBatch): DecodeBatch {
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
