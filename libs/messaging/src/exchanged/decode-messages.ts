import { type DecodedBatch, type Fetched, KafkaJSPartialMessageError } from './decode-batch.js';

/** Reads a partition's part of a fetch: its size, and so many bytes. */
export type DecodeMessages = (fetched: Fetched) => Promise<DecodedBatch['records']>;

const SIZE_BYTES = 4;
const MAGIC_AT = 16;
const RECORD_BATCH = 2;
/** Without its records. */
const BATCH_BYTES = 61;

/**
 * Puts the records of all batches together one by one. kafkajs hands those of a batch to `push` as arguments, of which
 * some hundred thousand are more than the stack holds: a producer that compresses well makes such batches, and no
 * consumer would ever get past them. Messages in the formats before Kafka 0.11 are read by kafkajs.
 */
export function withBatchesOfAnySize(
  decode: (fetched: Fetched) => Promise<DecodedBatch>,
): (decodeMessages: DecodeMessages) => DecodeMessages {
  return (decodeMessages) => async (fetched) => {
    const start = fetched.offset + SIZE_BYTES;
    const end = start + fetched.buffer.readInt32BE(fetched.offset);
    const isComplete = end - start > MAGIC_AT && end <= fetched.buffer.length;
    if (!isComplete || fetched.buffer.readInt8(start + MAGIC_AT) !== RECORD_BATCH) {
      return decodeMessages(fetched);
    }
    fetched.offset = end;
    return recordsOf({ buffer: fetched.buffer.subarray(start, end), offset: 0 }, decode);
  };
}

async function recordsOf(
  batches: Fetched,
  decode: (fetched: Fetched) => Promise<DecodedBatch>,
): Promise<DecodedBatch['records']> {
  const all: DecodedBatch['records'] = [];
  while (batches.buffer.length - batches.offset >= BATCH_BYTES) {
    try {
      const { records } = await decode(batches);
      for (const record of records) all.push(record);
    } catch (error) {
      if (error instanceof KafkaJSPartialMessageError) break;
      throw error;
    }
  }
  return all;
}
