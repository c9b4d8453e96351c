import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** The part of kafkajs's encoder and decoder that requests in Kafka's flexible versions need. */
interface Encoder {
  writeUVarInt(value: number): Encoder;
  writeUVarIntString(value: string): Encoder;
  writeUVarIntArray(items: readonly Encoder[]): Encoder;
  writeInt32(value: number): Encoder;
  writeBoolean(value: boolean): Encoder;
}
interface Decoder {
  readInt16(): number;
  readInt32(): number;
  readInt64(): { toString(): string };
  readUVarIntString(): string | null;
  readUVarIntArray<T>(read: (decoder: Decoder) => T): T[];
  readTaggedFields(): unknown;
}
const EncoderOfKafkajs = require('kafkajs/src/protocol/encoder.js') as new () => Encoder;
const DecoderOfKafkajs = require('kafkajs/src/protocol/decoder.js') as new (
  answer: Buffer,
) => Decoder;

const API_KEY = 9;
/** kafkajs's latest version, for brokers before 2.5: their answers may be older than transactions they acknowledged. */
const OF_KAFKAJS = 4;
/** First version that can exclude offsets which a transaction is about to set, since Kafka 2.5 (KIP-447). */
const VERSION = 7;
const UNSTABLE_OFFSET_COMMIT = 88;

interface AskedTopic {
  topic: string;
  partitions: readonly { partition: number }[];
}
interface Asked {
  groupId: string;
  topics: readonly AskedTopic[];
}
interface OffsetsOfPartition {
  partition: number;
  offset: string;
  metadata: string | null;
  errorCode: number;
}
interface Offsets {
  errorCode: number;
  responses: readonly { topic: string; partitions: readonly OffsetsOfPartition[] }[];
}

/** kafkajs's request for the offsets of a group, in all its versions. */
export interface OffsetFetch {
  versions: readonly string[];
  protocol: (of: { version: number }) => (asked: Asked) => {
    request: object;
    response: {
      decode: (answer: Buffer) => Promise<Offsets>;
      parse: (offsets: Offsets) => unknown;
    };
  };
}

/** Lists of topics whose request excludes offsets that are about to change. */
const onlyStable = new WeakSet<readonly AskedTopic[]>();

/** Adds the version of the request that excludes partitions whose offsets a transaction is about to set. */
export function withStableOffsets(offsetFetch: OffsetFetch): OffsetFetch {
  const { parse } = offsetFetch.protocol({ version: OF_KAFKAJS })({
    groupId: '',
    topics: [],
  }).response;
  const newer = (asked: Asked) => ({
    request: {
      ...{ apiKey: API_KEY, apiVersion: VERSION, apiName: 'OffsetFetch' },
      encode: () => Promise.resolve(encode(asked)),
    },
    response: {
      decode: (answer: Buffer) => Promise.resolve(decode(new DecoderOfKafkajs(answer))),
      parse,
    },
  });
  return {
    versions: [...offsetFetch.versions, String(VERSION)],
    protocol: ({ version }) =>
      version === VERSION
        ? newer
        : offsetFetch.protocol({ version: Math.min(version, OF_KAFKAJS) }),
  };
}

const encoder = (): Encoder => new EncoderOfKafkajs();
/** Ends each part of a flexible version: no tagged fields. */
const NO_TAGS = 0;

function encode({ groupId, topics }: Asked): Encoder {
  const encoded = topics.map(({ topic, partitions }) =>
    encoder()
      .writeUVarIntString(topic)
      .writeUVarIntArray(partitions.map(({ partition }) => encoder().writeInt32(partition)))
      .writeUVarInt(NO_TAGS),
  );
  // The first tagged fields belong to the header, which kafkajs writes without them.
  return encoder()
    .writeUVarInt(NO_TAGS)
    .writeUVarIntString(groupId)
    .writeUVarIntArray(encoded)
    .writeBoolean(onlyStable.has(topics))
    .writeUVarInt(NO_TAGS);
}

function decode(answer: Decoder): Offsets & { clientSideThrottleTime: number } {
  answer.readTaggedFields();
  const clientSideThrottleTime = answer.readInt32();
  const responses = answer.readUVarIntArray((topics) => {
    const topic = topics.readUVarIntString() ?? '';
    const partitions = topics.readUVarIntArray(decodePartition);
    topics.readTaggedFields();
    const stable = partitions.filter(({ errorCode }) => errorCode !== UNSTABLE_OFFSET_COMMIT);
    return { topic, partitions: stable };
  });
  return { clientSideThrottleTime, responses, errorCode: answer.readInt16() };
}

function decodePartition(answer: Decoder): OffsetsOfPartition {
  const partition = answer.readInt32();
  const offset = answer.readInt64().toString();
  // Leader epoch.
  answer.readInt32();
  const metadata = answer.readUVarIntString();
  const errorCode = answer.readInt16();
  answer.readTaggedFields();
  return { partition, offset, metadata, errorCode };
}

/** The part of kafkajs's broker that answers for the offsets of groups that it coordinates. */
interface Coordinator {
  offsetFetch(asked: Asked): Promise<unknown>;
}

/** Wraps a coordinator so that it is asked for stable offsets alone. */
function askedForStable<C extends Coordinator>(coordinator: C): C {
  const offsetFetch = ({ groupId, topics }: Asked): Promise<unknown> => {
    const marked = [...topics];
    onlyStable.add(marked);
    return coordinator.offsetFetch({ groupId, topics: marked });
  };
  return Object.assign(Object.create(coordinator) as C, { offsetFetch });
}

export type CoordinatedOffsetManagerClass = new (options: never) => {
  getCoordinator(): Promise<Coordinator>;
};

/**
 * Fetches a partition only once the group's offset is stable. Kafka acknowledges a transaction before the group has
 * its offset: a kafkajs consumer that rejoins within milliseconds of it, or seconds if a broker has ended, goes back
 * to the offset before. The offset of a partition that is about to change is asked for again before the next fetch.
 */
export function withStableBegin(
  Base: CoordinatedOffsetManagerClass,
): CoordinatedOffsetManagerClass {
  return class OffsetManager extends Base {
    override async getCoordinator(): Promise<Coordinator> {
      return askedForStable(await super.getCoordinator());
    }
  };
}

/** The part of kafkajs's cluster that finds the coordinator of a group. */
export interface CoordinatedCluster {
  findGroupCoordinator(of: { groupId: string }): Promise<Coordinator>;
}

/** Makes a cluster ask its coordinators for stable offsets alone: their answers lack others. */
export function askForStable(cluster: CoordinatedCluster): void {
  const find = cluster.findGroupCoordinator.bind(cluster);
  cluster.findGroupCoordinator = async (of) => askedForStable(await find(of));
}
