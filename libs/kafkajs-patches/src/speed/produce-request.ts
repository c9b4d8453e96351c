import { FrameWriter, type Int64, sizeOfString } from './frame-writer.js';
import { type Encoded, encoded, RecordBatch } from './record-batch.js';
import { type MessageFields } from './record-layout.js';

/** What kafkajs makes a produce request of. */
export interface ProduceFields {
  acks: number;
  timeout: number;
  transactionalId?: string | null;
  producerId?: Int64;
  producerEpoch?: number;
  /** The number of a codec. */
  compression?: number;
  topicData: readonly TopicFields[];
}

interface TopicFields {
  topic: string;
  partitions: readonly PartitionFields[];
}

interface PartitionFields {
  /** kafkajs has it from the name of a property. */
  partition: number | string;
  messages: readonly MessageFields[];
  firstSequence?: number;
}

/** A request as kafkajs's connections send it. */
export interface KafkajsRequest {
  apiKey: number;
  apiVersion: number;
  apiName: string;
  expectResponse?: () => boolean;
  encode: () => Promise<Encoded>;
}

/** A message of which a part is neither text nor bytes: it will never be sent, unlike what else may fail in between. */
export class UnencodableMessageError extends Error {
  readonly retriable = false;

  constructor(cause: Error) {
    super(cause.message, { cause });
    this.name = 'UnencodableMessageError';
  }
}

interface MeasuredTopic {
  topic: string;
  partitions: readonly { partition: number; batch: RecordBatch }[];
}

/**
 * A produce request (versions 3 to 7, which differ in the number alone): transactional id, acks, time-out, and
 * by topic and partition a record batch. All of it is measured first and then written once.
 */
export function produceRequest(fields: ProduceFields): KafkajsRequest {
  return {
    apiKey: 0,
    apiVersion: 3,
    apiName: 'Produce',
    expectResponse: () => fields.acks !== 0,
    encode: async () => write(fields, await measure(fields)),
  };
}

async function measure(fields: ProduceFields): Promise<MeasuredTopic[]> {
  const { compression = 0 } = fields;
  const topics = fields.topicData.map(({ topic, partitions }) => ({
    topic,
    partitions: partitions.map((data) => ({
      partition: Number(data.partition),
      batch: batchOf(data, fields),
    })),
  }));
  if (compression === 0) return topics;
  for (const { partitions } of topics) {
    for (const { batch } of partitions) await batch.compress();
  }
  return topics;
}

function batchOf(
  { messages, firstSequence = 0 }: PartitionFields,
  fields: ProduceFields,
): RecordBatch {
  const { transactionalId, producerId = -1, producerEpoch = 0, compression = 0 } = fields;
  const isTransactional = Boolean(transactionalId);
  const producer = { producerId, producerEpoch, isTransactional, firstSequence };
  try {
    return new RecordBatch(messages, producer, compression);
  } catch (error) {
    throw new UnencodableMessageError(error as Error);
  }
}

function write(fields: ProduceFields, topics: readonly MeasuredTopic[]): Encoded {
  const { transactionalId = null, acks, timeout } = fields;
  const bytes = sizeOfString(transactionalId) + 10 + sizeOf(topics);
  const writer = new FrameWriter(Buffer.allocUnsafe(bytes));
  writer.string(transactionalId).int16(acks).int32(timeout).int32(topics.length);
  for (const { topic, partitions } of topics) {
    writer.string(topic).int32(partitions.length);
    for (const { partition, batch } of partitions) {
      writer.int32(partition).int32(batch.bytes);
      batch.writeTo(writer);
    }
  }
  return encoded(writer.buffer);
}

function sizeOf(topics: readonly MeasuredTopic[]): number {
  let bytes = 0;
  for (const { topic, partitions } of topics) {
    bytes += sizeOfString(topic) + 4;
    for (const { batch } of partitions) bytes += 8 + batch.bytes;
  }
  return bytes;
}
