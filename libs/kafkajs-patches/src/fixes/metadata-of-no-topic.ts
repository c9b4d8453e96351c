import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** Writes values in the binary form of Kafka's protocol. */
interface Encoder {
  writeArray(items: readonly string[]): this;
  writeBoolean(value: boolean): this;
}

interface MetadataRequest {
  encode: () => Promise<Encoder>;
}

/** Makes the request for the metadata of topics; of an empty list kafkajs makes one for all topics. */
export type CreateMetadataRequest = (asked: {
  topics: readonly string[];
  allowAutoTopicCreation?: boolean;
}) => MetadataRequest;

/** As much of kafkajs's pool of brokers as loads the metadata that it keeps. */
interface MetadataPool {
  refreshMetadata(topics: readonly string[]): Promise<unknown>;
}

export type MetadataPoolClass = new (options: never) => MetadataPool;

/** Known by its identity: kafkajs passes an empty list on as it is. */
const NO_TOPIC: readonly string[] = Object.freeze([]);

/**
 * Asks for the brokers alone where a client has no topic yet, as a producer that has sent nothing. kafkajs asks for all
 * topics of the cluster with their partitions, and a bridge has a transactional producer for each partition that it
 * owns. A client that asks for all topics by itself, to list them, still gets them: it does not take them from here.
 */
export function withBrokersAlone<P extends MetadataPoolClass>(PoolOfKafkajs: P): P {
  const Base: MetadataPoolClass = PoolOfKafkajs;
  return class BrokerPool extends Base {
    override refreshMetadata(topics: readonly string[]): Promise<unknown> {
      return super.refreshMetadata(topics.length === 0 ? NO_TOPIC : topics);
    }
  } as unknown as P;
}

/** Makes a request for no topic as such. */
export function asksForNoTopic(createRequest: CreateMetadataRequest): CreateMetadataRequest {
  const EncoderOfKafkajs = require('kafkajs/src/protocol/encoder.js') as new () => Encoder;
  return (asked) => {
    const request = createRequest(asked);
    if (asked.topics !== NO_TOPIC) return request;
    const { allowAutoTopicCreation = true } = asked;
    const encode = (): Encoder =>
      new EncoderOfKafkajs().writeArray([]).writeBoolean(allowAutoTopicCreation);
    return { ...request, encode: () => Promise.resolve(encode()) };
  };
}
