import { temporaryFile } from '../../../libs/config/test/temporary-files.js';
import { NOW, type RunningSandbox, runSandbox } from './testing/running-sandbox.js';

const MINUTE = 60;
const DAY = 24 * 3600;

/** The last of the twelve simulated machines has no data, the third last no reasons. */
const [MACHINE, NO_DATA, NO_REASONS] = ['M-001', 'M-012', 'M-010'];

describe('the Machine Data Service, as its interface describes it', () => {
  let sandbox: RunningSandbox;

  beforeAll(async () => {
    const tokens = { nothing: [], 'only-info': ['machine-info'] };
    const tokensFile = temporaryFile('tokens.json', tokens);
    sandbox = await runSandbox({ SANDBOX_TOKENS_FILE: tokensFile });
  });
  afterAll(() => sandbox.close());

  const statusOf = async (...call: Parameters<RunningSandbox['service']>): Promise<number> =>
    (await sandbox.service(...call)).status;
  const stateOf = async (machineId: string) => {
    const { json } = await sandbox.control('GET', `machines/${machineId}`);
    return json as { workingOrders: string[]; classificationsReceived: object[] };
  };

  const classification = { machineId: MACHINE, startTime: NOW - 600, reasonId: '22' };
  const window = { machineId: MACHINE, startTime: NOW - DAY, endTime: NOW };
  const list = { machines: [{ machineId: MACHINE, workingOrders: ['4711'] }] };
  const calls: [string, string, string, unknown][] = [
    ['getMachineInfo', 'GET', 'mahcineInfo', undefined],
    ['getMachineState', 'GET', `machineState?machineId=${MACHINE}`, undefined],
    ['MachineActivityLog', 'POST', 'machineActivity', window],
    ['MachineClassification', 'GET', `machineClassifications?machineId=${MACHINE}`, undefined],
    ['setMachineClassification', 'POST', 'machineClassification', classification],
    ['setWorkOrderList', 'PUT', 'workOrderList', list],
  ];

  describe('Authentication', () => {
    it.each(calls)('allows %s to tokens with its scope', async (_, method, path, body) => {
      expect(await statusOf(method, path, { body })).toBe(200);
      const lacking = await sandbox.service(method, path, { body, token: 'nothing' });
      expect(lacking.status).toBe(403);
      expect(lacking.json).toMatchObject({ statusCode: 403, error: 'Forbidden' });
      const unknown = await sandbox.service(method, path, { body, token: 'stale' });
      expect([unknown.status, unknown.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    });

    it('answers 401 when the header is not a Bearer token', async () => {
      const headers = { authorization: 'sandbox-token' };
      expect(await statusOf('GET', 'mahcineInfo', { headers })).toBe(401);
    });

    it('checks the token before the body', async () => {
      const options = { body: '{', token: 'nothing' };
      expect(await statusOf('PUT', 'workOrderList', options)).toBe(403);
    });

    it('allows a token with one scope only its operation', async () => {
      expect(await statusOf('GET', 'mahcineInfo', { token: 'only-info' })).toBe(200);
    });

    it('issues a token with all scopes at login', async () => {
      const body = { userEmail: 'operator@example.com', password: 'sandbox-password' };
      const answer = await sandbox.service('POST', 'security/getAPIToken', { body });
      expect(answer.status).toBe(200);
      const { token } = answer.json as { token: string };
      expect(await statusOf('PUT', 'workOrderList', { body: list, token })).toBe(200);
    });

    it('issues tokens that expire with tokenLifetimeSeconds', async () => {
      const body = { userEmail: 'operator@example.com', password: 'sandbox-password' };
      const statuses = [];
      for (const tokenLifetimeSeconds of [0, 3600, null]) {
        await sandbox.control('PUT', 'options', { tokenLifetimeSeconds });
        const { json } = await sandbox.service('POST', 'security/getAPIToken', { body });
        const { token } = json as { token: string };
        statuses.push(await statusOf('GET', 'mahcineInfo', { token }));
      }
      expect(statuses).toEqual([401, 200, 200]);
    });

    it('refuses a login with a wrong password with 401', async () => {
      const body = { userEmail: 'operator@example.com', password: 'wrong' };
      expect(await statusOf('POST', 'security/getAPIToken', { body })).toBe(401);
    });
  });

  describe('getMachineInfo', () => {
    it.each(['mahcineInfo', 'MahcineInfo'])('lists the machines under %s', async (path) => {
      const machines = (await sandbox.service('GET', path)).json as unknown[];
      expect(machines).toHaveLength(12);
      expect(machines[0]).toEqual({
        machineDisplayName: { en: 'Milling centre 1' },
        machineUniqueId: 'M-001',
        factoryId: 'F-1',
        factoryName: 'Factory North',
      });
    });
  });

  describe('getMachineState', () => {
    it('returns state, duration in minutes and astUpdateTime', async () => {
      const { json } = await sandbox.service('GET', `machineState?machineId=${MACHINE}`);
      expect(Object.keys(json as object).sort()).toEqual([
        'astUpdateTime',
        'durationInMinutes',
        'machineState',
      ]);
      const { machineState, durationInMinutes, astUpdateTime } = json as Record<string, number>;
      expect(['OPERATING', 'IDLE', 'OFF']).toContain(machineState);
      expect(durationInMinutes).toBeGreaterThan(0);
      expect(Number.isInteger(durationInMinutes)).toBe(true);
      expect(NOW - astUpdateTime!).toBeLessThan(MINUTE);
    });

    it.each(['machineState', 'machineState?machineId=', 'machineState?machineId=M-999'])(
      'answers %s with 422: machine ID missing or does not exist',
      async (path) => {
        expect(await statusOf('GET', path)).toBe(422);
      },
    );

    it('answers 204 without a body when there is no data', async () => {
      const answer = await sandbox.service('GET', `machineState?machineId=${NO_DATA}`);
      expect([answer.status, answer.text]).toEqual([204, '']);
    });
  });

  describe('MachineActivityLog', () => {
    const ask = (body: object) => sandbox.service('POST', 'machineActivity', { body });

    it('returns the state periods of the window, oldest first, without overlap', async () => {
      const log = (await ask(window)).json as Record<string, number>[];
      expect(log.length).toBeGreaterThan(5);
      expect(log[0]!['startTime']).toBe(window.startTime);
      for (const [index, entry] of log.entries()) {
        expect(entry['durationInMinutes']).toBe((entry['endTime']! - entry['startTime']!) / 60);
        if (index > 0) expect(entry['startTime']).toBe(log[index - 1]!['endTime']);
      }
    });

    it('ends with the state and duration of getMachineState', async () => {
      const log = (await ask(window)).json as Record<string, unknown>[];
      const { json } = await sandbox.service('GET', `machineState?machineId=${MACHINE}`);
      const { machineState, durationInMinutes } = json as Record<string, unknown>;
      expect(log.at(-1)).toMatchObject({ machineState, durationInMinutes });
    });

    it.each([
      ['machine ID missing', { machineId: undefined }, 422],
      ['machine ID of no machine', { machineId: 'M-999' }, 422],
      ['startTime later than endTime', { startTime: NOW, endTime: NOW - 1 }, 422],
      ['requested period above 30 days', { startTime: NOW - 30 * DAY - 1 }, 422],
      ['requested period of exactly 30 days', { startTime: NOW - 30 * DAY }, 200],
      ['times in milliseconds', { endTime: NOW * 1000 }, 422],
      ['no data', { machineId: NO_DATA }, 204],
      ['window in the future', { startTime: NOW + DAY, endTime: NOW + 2 * DAY }, 204],
      ['window without length', { startTime: NOW - 30, endTime: NOW - 30 }, 204],
    ])('knows a %s', async (_, change, status) => {
      expect((await ask({ ...window, ...change })).status).toBe(status);
    });

    it.each(['startTime', 'endTime'])('answers 422 when %s is missing', async (field) => {
      const answer = await ask({ ...window, [field]: undefined });
      expect(answer.status).toBe(422);
      expect(answer.json).toMatchObject({ message: `${field} is missing` });
    });

    it('answers 422 to a time in quotes, with the reason', async () => {
      const answer = await ask({ ...window, startTime: `${window.startTime}` });
      expect(answer.json).toMatchObject({ message: 'startTime must be an integer number' });
    });
  });

  describe('MachineClassification', () => {
    const path = `machineClassifications?machineId=${MACHINE}`;

    it('returns the reasons of the machine as pairs of name and code', async () => {
      const { reasons } = (await sandbox.service('GET', path)).json as { reasons: object[] };
      expect(reasons).toHaveLength(13);
      expect(reasons).toContainEqual({ name: 'Waiting for quality release', code: '22' });
    });

    it('answers a POST with an empty body and a JSON content type like a GET', async () => {
      const posted = await sandbox.service('POST', path, { body: '' });
      expect(posted.status).toBe(200);
      expect(posted.json).toEqual((await sandbox.service('GET', path)).json);
    });

    it.each([
      ['machine ID missing', '', 422],
      ['machine ID not found', '?machineId=M-999', 404],
      ['result list is empty', `?machineId=${NO_REASONS}`, 204],
    ])('answers GET and POST alike: %s', async (_, query, status) => {
      for (const method of ['GET', 'POST'])
        expect(await statusOf(method, `machineClassifications${query}`)).toBe(status);
    });
  });

  describe('setMachineClassification', () => {
    const set = (body: object) => sandbox.service('POST', 'machineClassification', { body });

    it.each(['reasonId', 'reason'])('takes the reason in the field %s', async (field) => {
      const { startTime } = classification;
      const answer = await set({ machineId: 'M-002', startTime, [field]: '21' });
      expect([answer.status, answer.text]).toEqual([200, '']);
      const { classificationsReceived } = await stateOf('M-002');
      expect(classificationsReceived.at(-1)).toMatchObject({ startTime, reasonId: '21' });
    });

    it.each([undefined, null, ''])('takes an end time of %j as open-ended', async (endTime) => {
      expect((await set({ ...classification, endTime })).status).toBe(200);
      const { classificationsReceived } = await stateOf(MACHINE);
      expect(classificationsReceived.at(-1)).toMatchObject({ endTime: null });
    });

    it.each([
      ['machine ID does not exist', { machineId: 'M-999' }],
      ['machine ID missing', { machineId: undefined }],
      ['reason ID does not exist', { reasonId: '99' }],
      ['reason ID of another type of machine', { reasonId: '32' }],
      ['reason ID missing', { reasonId: undefined }],
      ['startTime later than endTime', { endTime: NOW - 601 }],
      ['start time in the future', { startTime: NOW + 1 }],
      ['message without start and end times', { startTime: undefined }],
      ['message with an end time alone', { startTime: undefined, endTime: NOW }],
      ['start time that is not a whole number', { startTime: '1763680000' }],
    ])('answers 422: %s', async (_, change) => {
      const answer = await set({ ...classification, ...change });
      expect(answer.status).toBe(422);
      expect(answer.json).toMatchObject({ statusCode: 422, message: expect.any(String) as string });
    });

    it('accepts a start time of the current second', async () => {
      expect((await set({ ...classification, startTime: NOW })).status).toBe(200);
    });
  });

  describe('setWorkOrderList', () => {
    const put = (body: unknown) => sandbox.service('PUT', 'workOrderList', { body });
    const ordersOf = async (machineId: string) => (await stateOf(machineId)).workingOrders;

    it('replaces the lists of several machines, in the order given', async () => {
      const machines = [
        { machineId: 'M-003', workingOrders: ['3', '1', '2'] },
        { machineId: 'M-004', workingOrders: ['4'] },
      ];
      const answer = await put({ machines });
      expect([answer.status, answer.text]).toEqual([200, '']);
      expect(await ordersOf('M-003')).toEqual(['3', '1', '2']);
      expect(await ordersOf('M-004')).toEqual(['4']);
    });

    it('clears a list with an empty one', async () => {
      await put({ machines: [{ machineId: 'M-003', workingOrders: ['1'] }] });
      await put({ machines: [{ machineId: 'M-003', workingOrders: [] }] });
      expect(await ordersOf('M-003')).toEqual([]);
    });

    it('sets nothing at all when one of the machines does not exist', async () => {
      await put({ machines: [{ machineId: 'M-005', workingOrders: ['before'] }] });
      const machines = [
        { machineId: 'M-005', workingOrders: ['after'] },
        { machineId: 'M-999', workingOrders: ['after'] },
      ];
      expect((await put({ machines })).status).toBe(422);
      expect(await ordersOf('M-005')).toEqual(['before']);
    });

    it.each([
      [{}, 'machines is missing'],
      [[], expect.any(String) as string],
      [7, expect.any(String) as string],
      [{ machines: 'M-001' }, 'each value in machines must be an object'],
      [{ machines: {} }, 'machines must be an array'],
      [{ machines: [[], null, 7] }, 'each value in machines must be an object'],
      [{ machines: [{ workingOrders: [] }] }, 'machines.0.machineId is missing'],
      [
        { machines: [{ machineId: 7, workingOrders: [] }] },
        'machines.0.machineId must be a string',
      ],
      [{ machines: [{ machineId: MACHINE }] }, 'machines.0.workingOrders is missing'],
      [
        { machines: [{ machineId: MACHINE, workingOrders: 'a' }] },
        'machines.0.workingOrders must be an array',
      ],
      [
        { machines: [{ machineId: MACHINE, workingOrders: ['x'.repeat(257)] }] },
        'machines.0.each value in workingOrders must be shorter than or equal to 256 characters',
      ],
    ])('answers 422 to the body %j, and says what is wrong with it', async (body, message) => {
      const { status, json } = await put(body);
      expect([status, json]).toMatchObject([422, { message }]);
    });
  });

  describe('where the interface is silent', () => {
    it('answers 400 in the common error shape to a body that is not JSON', async () => {
      const answer = await sandbox.service('PUT', 'workOrderList', { body: '{"machines":' });
      expect(answer.json).toEqual({
        statusCode: 400,
        error: 'Bad Request',
        message: expect.any(String) as string,
      });
    });

    it.each([
      ['PUT', 'workOrderList', 'machines'],
      ['POST', 'machineClassification', 'note'],
    ])(
      'answers 400 to a body of %s %s nested deeper than 64 levels',
      async (method, path, name) => {
        const nested = (levels: number) => {
          const value = '['.repeat(levels - 1) + ']'.repeat(levels - 1);
          return sandbox.service(method, path, { body: `{"${name}":${value}}` });
        };
        expect((await nested(64)).status).toBe(422);
        for (const levels of [65, 5000, 500_000]) {
          expect(await nested(levels)).toMatchObject({ status: 400, json: { statusCode: 400 } });
        }
        // the log has none of them
        expect((await sandbox.control('GET', 'calls')).status).toBe(200);
      },
    );

    it('answers 413 to a body above 1 MiB and 415 to one that is not JSON by its type', async () => {
      const body = JSON.stringify({ machines: 'x'.repeat(1024 * 1024) });
      expect(await statusOf('PUT', 'workOrderList', { body })).toBe(413);
      const headers = { 'content-type': 'text/plain' };
      expect(await statusOf('PUT', 'workOrderList', { body: '{}', headers })).toBe(415);
    });

    it('answers 405 to another method, with the methods of the operation', async () => {
      const answer = await sandbox.service('DELETE', 'machineClassifications');
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, POST']);
    });

    it.each([':x(', '*'])(
      'answers 404 to the path %s, and takes it for no pattern',
      async (path) => {
        expect((await sandbox.service('DELETE', path)).status).toBe(404);
      },
    );

    it('answers 400 in the same shape to a URL that cannot be decoded', async () => {
      const { status, json } = await sandbox.service('GET', '%');
      expect(status).toBe(400);
      expect(Object.keys(json as object)).toEqual(['statusCode', 'error', 'message']);
    });

    it('answers 404 outside the interface', async () => {
      const answer = await sandbox.service('GET', 'nothing');
      expect(answer.json).toMatchObject({ statusCode: 404 });
    });
  });
});
