import { createRequire } from 'node:module';
import '../kafkajs.js';
import { exchangeModules } from './exchange-modules.js';
import { type Encoded } from './kafkajs-encoder.js';
import { type KafkajsRequest, type ProduceFields } from './produce-request.js';

const require = createRequire(import.meta.url);

/** A connection of kafkajs, as far as a request needs one. */
interface Connection {
  connectionStatus: string;
  socket: { write: (bytes: Buffer) => void };
  send: (sent: { request: KafkajsRequest }) => Promise<void>;
}

const fields: ProduceFields = {
  acks: 0,
  timeout: 1000,
  topicData: [{ topic: 'topic', partitions: [{ partition: 0, messages: [{ value: 'text' }] }] }],
};

describe('kafkajs, once it is loaded', () => {
  it('sends what is produced from where it was written', async () => {
    const ConnectionOf = require('kafkajs/src/network/connection.js') as new (
      options: object,
    ) => Connection;
    const produce = require('kafkajs/src/protocol/requests/produce/v7/request.js') as (
      fields: ProduceFields,
    ) => KafkajsRequest;
    const logger = { namespace: () => logger, debug: () => undefined };
    const connection = new ConnectionOf({ logger, clientId: 'test' });
    const sent: Buffer[] = [];
    connection.connectionStatus = 'connected';
    connection.socket = { write: (bytes) => sent.push(bytes) };

    const request = produce(fields);
    let payload: Encoded | undefined;
    const encode = async () => (payload = await request.encode());
    await connection.send({ request: { ...request, encode } });

    expect(sent[0]?.subarray(-payload!.size()).equals(payload!.buffer)).toBe(true);
    expect(sent[0]?.buffer).toBe(payload!.buffer.buffer);
    expect(sent[0]?.subarray(4, 8)).toEqual(Buffer.from([0, 0, 0, 7]));
  });

  it('sends messages in our way', () => {
    const create = require('kafkajs/src/producer/sendMessages.js') as { name: string };
    expect(create.name).toBe('createSendMessages');
  });

  it('is exchanged once only', () => {
    const path = 'kafkajs/src/protocol/request.js';
    const before: unknown = require(path);
    exchangeModules();
    expect(require(path)).toBe(before);
  });
});
