import { once } from 'node:events';
import { createRequire } from 'node:module';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { type CreateSocketFactory, unreferencedOnce } from './socket-factory.js';

const factoryOfKafkajs = createRequire(import.meta.url)(
  'kafkajs/src/network/socketFactory.js',
) as CreateSocketFactory;

describe('a socket that is gone, and whose connection is closed again and again', () => {
  let server: Server;

  beforeAll(async () => {
    server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  afterAll(() => server.close());

  const listenersAfter = async (createFactory: CreateSocketFactory): Promise<number> => {
    const { port } = server.address() as AddressInfo;
    const options = { host: '127.0.0.1', port, onConnect: () => undefined };
    const socket: Socket = createFactory()(options as never);
    await once(socket, 'connect');
    await once(socket.destroy(), 'close');
    socket.setMaxListeners(0);
    for (let close = 0; close < 20; close += 1) socket.unref();
    return socket.listenerCount('connect');
  };

  it('gets a listener each time from kafkajs', async () => {
    expect(await listenersAfter(factoryOfKafkajs)).toBe(20);
  });

  it('gets one', async () => {
    expect(await listenersAfter(unreferencedOnce(factoryOfKafkajs))).toBe(1);
  });
});
