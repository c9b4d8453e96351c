import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { jest } from '@jest/globals';
import { connect } from '../test/stubbed-client.js';
import type { MachineCloudClient } from './machine-cloud-client.js';

/** The client closes a connection a second earlier, and two more are for the network. */
const answerKeeping = (seconds: number): string =>
  `HTTP/1.1 200 OK\r\nkeep-alive: timeout=${seconds}\r\ncontent-length: 2\r\n\r\n{}`;
/** More than fits into the receiver's buffer, less than into the sender's. */
const ORDERS = Array.from({ length: 20_000 }, (_, at) => `order ${at}`);

function clientOf(server: Server, timeoutMs = 10_000): MachineCloudClient {
  const { port } = server.address() as AddressInfo;
  return connect({ baseUrl: `http://127.0.0.1:${port}`, maxConnections: 1, timeoutMs });
}

describe('a connection', () => {
  let server: Server;
  let client: MachineCloudClient;

  beforeEach(async () => {
    server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    client = clientOf(server);
  });

  afterEach(async () => {
    await client.closeConnections();
    server.close();
    await once(server, 'close');
  });

  const arrivedOn = (socket: Socket): Promise<{ bytes: number; end: string }> => {
    let bytes = 0;
    return new Promise((resolve) => {
      socket.on('data', (chunk) => (bytes += chunk.length));
      socket.on('end', () => resolve({ bytes, end: 'in good order' }));
      socket.on('error', ({ code = '' }: NodeJS.ErrnoException) => resolve({ bytes, end: code }));
    });
  };

  it('is reset when its call is given up, so that the rest of the call never arrives', async () => {
    const abort = new AbortController();
    const list = { machineId: 'M-1', workingOrders: ORDERS };
    const call = client.setWorkOrderList([list], { signal: abort.signal });
    const [socket] = (await once(server, 'connection')) as [Socket];
    const arrived = arrivedOn(socket);
    socket.pause();
    abort.abort(new Error('given up'));
    await expect(call).rejects.toThrow('given up');
    socket.resume();
    const { bytes, end } = await arrived;
    expect(end).toBe('ECONNRESET');
    expect(bytes).toBeLessThan(JSON.stringify(list).length);
  });

  it('may be given up amid an answer that only the end of the connection would end', async () => {
    const hasty = clientOf(server, 500);
    const call = hasty.getMachineInfo();
    const [socket] = (await once(server, 'connection')) as [Socket];
    const arrived = arrivedOn(socket);
    socket.resume();
    socket.write('HTTP/1.1 200 OK\r\n\r\n[');
    expect(await call).toMatchObject({ kind: 'retry', error: { code: 'timeout' } });
    expect((await arrived).end).toBe('ECONNRESET');
  });

  it('is closed in order when it has been idle for as long as the service keeps it', async () => {
    const call = client.setWorkOrderList([], { signal: undefined });
    const [socket] = (await once(server, 'connection')) as [Socket];
    const arrived = arrivedOn(socket);
    socket.resume();
    socket.write(answerKeeping(3));
    expect(await call).toMatchObject({ kind: 'data' });
    expect((await arrived).end).toBe('in good order');
  });

  it('is used for a minute, and then ends with an answer: the name may lead elsewhere by then', async () => {
    const realNowMs = performance.now.bind(performance);
    let skippedMs = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => realNowMs() + skippedMs);
    const opened: Socket[] = [];
    server.on('connection', (socket) => {
      // the last one is reset when the client closes
      opened.push(socket.on('error', () => undefined).resume());
      socket.on('data', (chunk) => String(chunk).endsWith('}') && socket.write(answerKeeping(600)));
    });
    const call = async (): Promise<number> => {
      expect(await client.setWorkOrderList([])).toMatchObject({ kind: 'data' });
      return opened.length;
    };
    expect([await call(), await call()]).toEqual([1, 1]);
    skippedMs += 60_000;
    // the answer that ends it still arrives
    expect([await call(), await call(), await call()]).toEqual([1, 2, 2]);
  });
});
