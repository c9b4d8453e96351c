import { respond } from '../../http-calls/test/stub-service.js';
import { calls, client, connect, service } from '../test/stubbed-client.js';

describe('each operation', () => {
  it('getMachineInfo asks without parameters', async () => {
    service.answers(
      respond(200, [{ machineDisplayName: 'Mill', machineUniqueId: 'M-1', factoryId: 'F-1' }]),
    );
    expect(await client.getMachineInfo()).toEqual({
      kind: 'data',
      data: [{ machineId: 'M-1', displayName: 'Mill', factoryId: 'F-1', factoryName: '' }],
    });
    expect(service.lastRequest).toMatchObject({
      method: 'GET',
      url: '/api/v1/mahcineInfo',
      body: '',
    });
  });

  it('getMachineState asks for one machine', async () => {
    service.answers(
      respond(200, { machineState: 'OPERATING', durationInMinutes: 3, astUpdateTime: 1763680000 }),
    );
    expect(await client.getMachineState('M 1+ä&/\ud800')).toEqual({
      kind: 'data',
      data: { state: 'OPERATING', durationInMinutes: 3, lastUpdateTime: 1763680000 },
    });
    const { method, url } = service.lastRequest;
    expect(method).toBe('GET');
    expect(url).toBe('/api/v1/machineState?machineId=M%201%2B%C3%A4%26%2F%EF%BF%BD');
  });

  it('getMachineActivityLog posts the window', async () => {
    service.answers(
      respond(200, [{ startTime: 1, endTime: 61, machineState: 'OFF', durationInMinutes: 1 }]),
    );
    expect(
      await client.getMachineActivityLog({ machineId: 'M-1', startTime: 1, endTime: 100 }),
    ).toEqual({
      kind: 'data',
      data: [{ startTime: 1, endTime: 61, state: 'OFF' }],
    });
    expect(service.lastRequest).toMatchObject({
      method: 'POST',
      url: '/api/v1/machineActivity',
      headers: { 'content-type': 'application/json' },
    });
    expect(JSON.parse(service.lastRequest.body)).toEqual({
      machineId: 'M-1',
      startTime: 1,
      endTime: 100,
    });
  });

  it('getClassificationReasons gets the list of one machine', async () => {
    service.answers(respond(200, { reasons: [{ name: 'Tool change', code: '22' }] }));
    expect(await client.getClassificationReasons('M-1')).toEqual({
      kind: 'data',
      data: [{ name: 'Tool change', code: '22' }],
    });
    expect(service.lastRequest).toMatchObject({
      method: 'GET',
      url: '/api/v1/machineClassifications?machineId=M-1',
    });
  });

  it('setMachineClassification posts the reason as reasonId', async () => {
    const classification = { machineId: 'M-1', startTime: 10, endTime: 20, reasonId: '22' };
    expect(await client.setMachineClassification(classification)).toEqual({
      kind: 'data',
      data: null,
    });
    expect(service.lastRequest).toMatchObject({
      method: 'POST',
      url: '/api/v1/machineClassification',
      headers: { 'content-type': 'application/json' },
    });
    expect(JSON.parse(service.lastRequest.body)).toEqual(classification);
  });

  it('setMachineClassification leaves the end out when it is open, and renames the reason if the settings say so', async () => {
    const other = connect({ reasonField: 'reason' });
    await other.setMachineClassification({ machineId: 'M-1', startTime: 10, reasonId: '22' });
    expect(service.lastRequest.body).toBe('{"machineId":"M-1","startTime":10,"reason":"22"}');
  });

  it('setWorkOrderList puts the lists of several machines, and nothing else of the assignments', async () => {
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

  it('goes below the path of the base URL', async () => {
    const other = connect({ baseUrl: `${service.baseUrl}/tenant/` });
    await other.getMachineInfo();
    expect(service.lastRequest.url).toBe('/tenant/api/v1/mahcineInfo');
  });

  it('reuses a connection that is open', async () => {
    for (let call = 0; call < 200; call += 1) await client.getMachineInfo();
    expect(service.requests).toHaveLength(200);
    // the pool may open a second one while the first is still handing its answer over
    expect(service.connections).toBeLessThanOrEqual(2);
  });

  it('keeps to the number of connections allowed', async () => {
    const other = connect({ maxConnections: 3 });
    await Promise.all(Array.from({ length: 20 }, () => other.getMachineInfo()));
    expect(service.requests).toHaveLength(20);
    expect(service.connections).toBe(3);
  });

  it('is reported with its operation, status and duration', async () => {
    service.answers(respond(503));
    await client.setWorkOrderList([]);
    expect(calls).toEqual([
      { operation: 'setWorkOrderList', status: 503, durationMs: expect.any(Number) as number },
    ]);
  });
});
