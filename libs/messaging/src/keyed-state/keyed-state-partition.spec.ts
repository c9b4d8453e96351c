import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import { type Kafka } from 'kafkajs';
import { loadKafkaSettings } from '#libs/config';
import { createKafka } from '../client/kafka-client.js';
import { withDeadline } from '../deadline.js';
import { SupervisedConsumer } from '../inbox/supervised-consumer.js';
import { KeyedStatePartition } from './keyed-state-partition.js';

/** A time-out of the client is many times as long. */
const CLOSE_DEADLINE_MS = 4000;

describe('a partition of state that is closed while Kafka says nothing', () => {
  let broker: Server;
  const sockets: Socket[] = [];
  let settings: ReturnType<typeof loadKafkaSettings>;

  beforeAll(async () => {
    Logger.overrideLogger(false);
    broker = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await once(broker, 'listening');
    const { port } = broker.address() as AddressInfo;
    settings = loadKafkaSettings({ KAFKA_BROKERS: `127.0.0.1:${port}` });
  });

  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    broker.close();
  });

  const partitionOf = (kafka: Kafka): KeyedStatePartition<number> => {
    const consumer = new SupervisedConsumer(
      kafka,
      { groupId: 'group', topics: [] },
      {
        onBatch: () => undefined,
        onAssigned: () => undefined,
        onRevoking: () => Promise.resolve(),
        onSign: () => undefined,
      },
    );
    return new KeyedStatePartition(
      0,
      {
        kafka,
        name: 'machine-bridge.counts.v1',
        transactionalIdPrefix: 'group',
        parse: (json) => json as number,
        onOwned: () => undefined,
      },
      consumer,
    );
  };

  it('does not wait for a connection', async () => {
    const partition = partitionOf(createKafka(settings));
    partition.start();
    await once(broker, 'connection');
    expect(await withDeadline(partition.close(), CLOSE_DEADLINE_MS)).toBe(true);
  });

  it('does not wait for its mark to be written', async () => {
    let producer: object | undefined;
    const writing = new Promise<void>((begun) => {
      producer = {
        connect: () => Promise.resolve(),
        transaction: () => {
          begun();
          return new Promise(() => undefined);
        },
        disconnect: () => Promise.resolve(),
      };
    });
    const partition = partitionOf({ producer: () => producer } as unknown as Kafka);
    partition.start();
    await writing;
    expect(await withDeadline(partition.close(), CLOSE_DEADLINE_MS)).toBe(true);
  });
});
