import { hang, respond } from '../../http-calls/test/stub-service.js';
import { calls, connect, service } from '../test/stubbed-client.js';
import type { MachineCloudClient } from './machine-cloud-client.js';

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
