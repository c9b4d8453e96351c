import { respond } from '../../http-calls/test/stub-service.js';
import { calls, client, connect, service } from '../test/stubbed-client.js';

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
      { operation: 'setWorkOrderList', status: 503, durationMs: expect.any(Number) as number },
    ]);
  });
});
