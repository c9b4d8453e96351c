import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { loadKafkaSettings } from '#libs/config';
import { createKafka } from '../client/kafka-client.js';
import { withDeadline } from '../deadline.js';
import { SupervisedConsumer } from '../inbox/supervised-consumer.js';
import { type Kafka } from '../kafkajs.js';
import { KeyedStatePartition } from './keyed-state-partition.js';

/** A time-out of the client is many times as long. */
const CLOSE_DEADLINE_MS = 4000;

describe('a partition of state while Kafka says nothing', () => {
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

  afterEach(() => {
    jest.useRealTimers();
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
        onEmptyFetch: () => undefined,
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

  it('is closed without waiting for a connection', async () => {
    const partition = partitionOf(createKafka(settings));
    partition.start();
    await once(broker, 'connection');
    expect(await withDeadline(partition.close(), CLOSE_DEADLINE_MS)).toBe(true);
  });

  it('is closed without waiting for its mark to be written', async () => {
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

  it('writes another mark when nothing comes up to the one before', async () => {
    jest.useFakeTimers({ doNotFake: ['Date', 'nextTick', 'queueMicrotask', 'setImmediate'] });
    let marks = 0;
    let another: () => void = () => undefined;
    const secondMark = new Promise<void>((resolve) => (another = resolve));
    const sendBatch = (): void => {
      marks += 1;
      if (marks > 1) another();
    };
    const producer = {
      connect: () => Promise.resolve(),
      transaction: () => ({ sendBatch, commit: () => Promise.resolve() }),
      disconnect: () => Promise.resolve(),
    };
    const partition = partitionOf({ producer: () => producer } as unknown as Kafka);
    partition.start();
    await jest.advanceTimersByTimeAsync(29_000);
    expect(marks).toBe(1);
    await jest.advanceTimersByTimeAsync(2000);
    await secondMark;
    expect(partition.isRestored).toBe(false);
    await partition.close();
  });
});
