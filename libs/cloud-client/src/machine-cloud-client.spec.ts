import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { jest } from '@jest/globals';
import { respond, hang } from '../../http-calls/test/stub-service.js';
import { calls, client, connect, service } from '../test/stubbed-client.js';
import type { MachineCloudClient } from './machine-cloud-client.js';

const CLASSIFICATION = { machineId: 'M-1', startTime: 10, endTime: 20, reasonId: '22' };
const JSON_BODY = { headers: { 'content-type': 'application/json' } };

describe('each operation', () => {
  it.each<[string, () => Promise<unknown>, unknown, unknown, object, object?]>([
    [
      'getMachineInfo asks without parameters',
      () => client.getMachineInfo(),
      [{ machineDisplayName: 'Mill', machineUniqueId: 'M-1', factoryId: 'F-1' }],
      [{ machineId: 'M-1', displayName: 'Mill', factoryId: 'F-1', factoryName: '' }],
      { method: 'GET', url: '/api/v1/mahcineInfo', body: '' },
    ],
    [
      'getMachineState asks for one machine',
      () => client.getMachineState('M 1+ä&/\ud800'),
      { machineState: 'OPERATING', durationInMinutes: 3, astUpdateTime: 1763680000 },
      { state: 'OPERATING', durationInMinutes: 3, lastUpdateTime: 1763680000 },
      { method: 'GET', url: '/api/v1/machineState?machineId=M%201%2B%C3%A4%26%2F%EF%BF%BD' },
    ],
    [
      'getMachineActivityLog posts the window',
      () => client.getMachineActivityLog({ machineId: 'M-1', startTime: 1, endTime: 100 }),
      [{ startTime: 1, endTime: 61, machineState: 'OFF', durationInMinutes: 1 }],
      [{ startTime: 1, endTime: 61, state: 'OFF' }],
      { method: 'POST', url: '/api/v1/machineActivity', ...JSON_BODY },
      { machineId: 'M-1', startTime: 1, endTime: 100 },
    ],
    [
      'getClassificationReasons gets the list of one machine',
      () => client.getClassificationReasons('M-1'),
      { reasons: [{ name: 'Tool change', code: '22' }] },
      [{ name: 'Tool change', code: '22' }],
      { method: 'GET', url: '/api/v1/machineClassifications?machineId=M-1' },
    ],
    [
      'setMachineClassification posts the reason as reasonId',
      () => client.setMachineClassification(CLASSIFICATION),
      '',
      null,
      { method: 'POST', url: '/api/v1/machineClassification', ...JSON_BODY },
      CLASSIFICATION,
    ],
  ])('%s', async (_, call, answer, data, request, ...[body]) => {
    service.answers(respond(200, answer));
    expect(await call()).toEqual({ kind: 'data', data });
    expect(service.lastRequest).toMatchObject(request);
    if (body !== undefined) expect(JSON.parse(service.lastRequest.body)).toEqual(body);
  });

  it('setMachineClassification omits an open end, and renames the reason if the settings say so', async () => {
    const other = connect({ reasonField: 'reason' });
    await other.setMachineClassification({ machineId: 'M-1', startTime: 10, reasonId: '22' });
    expect(service.lastRequest.body).toBe('{"machineId":"M-1","startTime":10,"reason":"22"}');
  });

  it('setWorkOrderList puts the lists of several machines, without other fields of the assignments', async () => {
    const assignments = [
      { machineId: 'M-1', workingOrders: ['4712', '4711'], issuedAt: 5 },
      { machineId: 'M-2', workingOrders: [] },
    ];
    expect(await client.setWorkOrderList(assignments)).toEqual({ kind: 'data', data: null });
    expect(service.lastRequest).toMatchObject({
      method: 'PUT',
      url: '/api/v1/workOrderList',
      headers: { 'content-type': 'application/json' },
      body: '{"machines":[{"machineId":"M-1","workingOrders":["4712","4711"]},{"machineId":"M-2","workingOrders":[]}]}',
    });
  });
});

describe('every request', () => {
  it('carries the token as Bearer and asks for JSON', async () => {
    await client.getMachineInfo();
    expect(service.lastRequest.headers).toMatchObject({
      authorization: 'Bearer t0k3n',
      accept: 'application/json',
    });
    expect(service.lastRequest.headers).not.toHaveProperty('content-type');
  });

  it('reuses an open connection', async () => {
    for (let call = 0; call < 200; call += 1) await client.getMachineInfo();
    expect(service.requests).toHaveLength(200);
    // the pool may open a second one while the first still delivers its answer
    expect(service.connections).toBeLessThanOrEqual(2);
  });

  it('keeps within the allowed number of connections', async () => {
    const other = connect({ maxConnections: 3 });
    await Promise.all(Array.from({ length: 20 }, () => other.getMachineInfo()));
    expect(service.requests).toHaveLength(20);
    expect(service.connections).toBe(3);
  });

  it('is reported with its operation, status and duration', async () => {
    service.answers(respond(503));
    await client.setWorkOrderList([]);
    expect(calls).toEqual([
      { operation: 'setWorkOrderList', status: 503, seconds: expect.any(Number) as number },
    ]);
  });
});

const NO_SIGNAL = { signal: undefined };

describe("the caller's abort", () => {
  const reason = new Error('shutting down');
  let client: MachineCloudClient;

  beforeEach(() => {
    client = connect({ maxConnections: 1 });
  });

  it('rejects a call in flight with its reason and drops the connection', async () => {
    const abort = new AbortController();
    const dropped = new Promise<void>((resolve) => {
      service.answers((_request, response) => {
        response.on('close', resolve);
        abort.abort(reason);
      });
    });
    await expect(client.getMachineInfo(abort.signal)).rejects.toBe(reason);
    await dropped;
    expect(calls.map(({ status }) => status)).toEqual(['aborted']);
  });

  it('rejects while the body arrives', async () => {
    const abort = new AbortController();
    service.answers((_request, response) => response.write('[', () => abort.abort(reason)));
    await expect(client.setWorkOrderList([], abort)).rejects.toBe(reason);
  });

  it('rejects a call that waits for a connection, without sending it', async () => {
    const first = new AbortController();
    const second = new AbortController();
    service.answers((request, response) => {
      hang(request, response);
      second.abort(reason);
    });
    const inFlight = client.getMachineInfo(first.signal);
    await expect(client.getMachineState('M-2', { signal: second.signal })).rejects.toBe(reason);
    first.abort(reason);
    await expect(inFlight).rejects.toBe(reason);
    service.answers(respond(200, []));
    await client.getMachineInfo();
    expect(service.requests.map(({ url }) => url)).toEqual([
      '/api/v1/mahcineInfo',
      '/api/v1/mahcineInfo',
    ]);
  });

  it('works like an objection to a call that waits for a connection', async () => {
    const first = new AbortController();
    service.answers(hang);
    const inFlight = client.getMachineInfo(first.signal);
    let objection: Error | undefined;
    const waiting = client.setWorkOrderList([], { ...NO_SIGNAL, objection: () => objection });
    objection = reason;
    first.abort(new Error('makes room'));
    await expect(waiting).rejects.toBe(reason);
    await expect(inFlight).rejects.toThrow('makes room');
    objection = undefined;
    service.answers(respond(200));
    await client.setWorkOrderList([], { ...NO_SIGNAL, objection: () => objection });
    const lists = service.requests.filter(({ url }) => url === '/api/v1/workOrderList');
    expect(lists).toHaveLength(1);
  });

  it('before the call sends nothing', async () => {
    await expect(client.getMachineInfo(AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(service.connections).toBe(0);
  });

  it('does not wait for a login that hangs', async () => {
    const abort = new AbortController();
    const credentials = { email: 'me@example.com', password: 'hunter2' };
    const token = { kind: 'login', ...credentials } as const;
    const waiting = connect({ token });
    service.answers(() => abort.abort(reason));
    await expect(waiting.getMachineInfo(abort.signal)).rejects.toBe(reason);
  });
});

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
