import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { loadKafkaSettings, readEnvironment } from '#libs/config';
import { type Admin, Kafka, logLevel } from '#libs/kafkajs-patches';

describe('a broker that accepts connections and does not answer', () => {
  const { brokers } = loadKafkaSettings(readEnvironment());
  let server: Server;
  let sockets: Socket[];
  let admin: Admin;

  beforeEach(async () => {
    sockets = [];
    server = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const silentFirst = [`127.0.0.1:${port}`, ...brokers];
    const timeouts = { connectionTimeout: 2000, requestTimeout: 15_000 };
    admin = new Kafka({ brokers: silentFirst, ...timeouts, logLevel: logLevel.NOTHING }).admin();
  });
  afterEach(async () => {
    await admin.disconnect();
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  it('is replaced by the next one', async () => {
    await admin.connect();
    expect(sockets.length).toBeGreaterThan(0);
    await expect(admin.describeCluster()).resolves.toHaveProperty('brokers');
  });
});
