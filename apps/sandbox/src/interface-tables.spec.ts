import { temporaryFile } from '../../../libs/config/test/temporary-files.js';
import { NOW, type RunningSandbox, runSandbox } from './testing/running-sandbox.js';

const MINUTE = 60;
const DAY = 24 * 3600;

/** Of the twelve simulated machines the last has no data and the third last no reasons. */
const [MACHINE, NO_DATA, NO_REASONS] = ['M-001', 'M-012', 'M-010'];

describe('the Machine Data Service, as its interface describes it', () => {
  let sandbox: RunningSandbox;

  beforeAll(async () => {
    const tokens = { nothing: [], 'only-info': ['machine-info'] };
    const tokensFile = temporaryFile('tokens.json', tokens);
    sandbox = await runSandbox({ SANDBOX_TOKENS_FILE: tokensFile });
  });
  afterAll(() => sandbox.close());

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
    it.each(calls)(
      'answers %s with 200 to a token that has its scope',
      async (_, method, path, body) => {
        expect((await sandbox.service(method, path, { body })).status).toBe(200);
      },
    );

    it.each(calls)(
      'answers %s with 403 to a token that lacks its scope',
      async (_, method, path, body) => {
        const answer = await sandbox.service(method, path, { body, token: 'nothing' });
        expect(answer.status).toBe(403);
        expect(answer.json).toMatchObject({ statusCode: 403, error: 'Forbidden' });
      },
    );

    it.each(calls)('answers %s with 401 to an unknown token', async (_, method, path, body) => {
      const answer = await sandbox.service(method, path, { body, token: 'stale' });
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    });

    it('answers 401 when the header is not a Bearer token', async () => {
      const headers = { authorization: 'sandbox-token' };
      expect((await sandbox.service('GET', 'mahcineInfo', { headers })).status).toBe(401);
    });

    it('judges the token before the body', async () => {
      const options = { body: '{', token: 'nothing' };
      expect((await sandbox.service('PUT', 'workOrderList', options)).status).toBe(403);
    });

    it('lets a token with one scope do that one thing', async () => {
      const token = 'only-info';
      expect((await sandbox.service('GET', 'mahcineInfo', { token })).status).toBe(200);
    });

    it('issues a token with all scopes at login', async () => {
      const body = { userEmail: 'operator@example.com', password: 'sandbox-password' };
      const answer = await sandbox.service('POST', 'security/getAPIToken', { body });
      expect(answer.status).toBe(200);
      const { token } = answer.json as { token: string };
      expect((await sandbox.service('PUT', 'workOrderList', { body: list, token })).status).toBe(
        200,
      );
    });

    it('issues tokens that expire when it is asked to', async () => {
      const credentials = { userEmail: 'operator@example.com', password: 'sandbox-password' };
      const statusOfNewToken = async (): Promise<number> => {
        const login = { body: credentials };
        const { json } = await sandbox.service('POST', 'security/getAPIToken', login);
        const { token } = json as { token: string };
        return (await sandbox.service('GET', 'mahcineInfo', { token })).status;
      };
      await sandbox.control('PUT', 'options', { tokenLifetimeSeconds: 0 });
      expect(await statusOfNewToken()).toBe(401);
      await sandbox.control('PUT', 'options', { tokenLifetimeSeconds: 3600 });
      expect(await statusOfNewToken()).toBe(200);
      await sandbox.control('PUT', 'options', { tokenLifetimeSeconds: null });
      expect(await statusOfNewToken()).toBe(200);
    });

    it('refuses a login with a wrong password with 401', async () => {
      const body = { userEmail: 'operator@example.com', password: 'wrong' };
      expect((await sandbox.service('POST', 'security/getAPIToken', { body })).status).toBe(401);
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

    it.each(['machineState', 'machineState?machineId='])(
      'answers %s with 422: machine ID missing',
      async (path) => {
        expect((await sandbox.service('GET', path)).status).toBe(422);
      },
    );

    it('answers 204 without a body when there is no data', async () => {
      const answer = await sandbox.service('GET', `machineState?machineId=${NO_DATA}`);
      expect([answer.status, answer.text]).toEqual([204, '']);
    });

    it('answers 422 when the machine does not exist', async () => {
      expect((await sandbox.service('GET', 'machineState?machineId=M-999')).status).toBe(422);
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

    it('ends with the state that getMachineState shows, as long as it has lasted', async () => {
      const log = (await ask(window)).json as Record<string, unknown>[];
      const { json } = await sandbox.service('GET', `machineState?machineId=${MACHINE}`);
      const { machineState, durationInMinutes } = json as Record<string, unknown>;
      expect(log.at(-1)).toMatchObject({ machineState, durationInMinutes });
    });

    it('answers 422: machine ID missing', async () => {
      expect((await ask({ ...window, machineId: undefined })).status).toBe(422);
    });

    it('answers 422: startTime later than endTime', async () => {
      expect((await ask({ ...window, startTime: NOW, endTime: NOW - 1 })).status).toBe(422);
    });

    it('answers 422: requested period above 30 days', async () => {
      const startTime = NOW - 30 * DAY - 1;
      expect((await ask({ ...window, startTime })).status).toBe(422);
    });

    it('grants a period of exactly 30 days', async () => {
      expect((await ask({ ...window, startTime: NOW - 30 * DAY })).status).toBe(200);
    });

    it.each(['startTime', 'endTime'])('answers 422 when %s is missing', async (field) => {
      const answer = await ask({ ...window, [field]: undefined });
      expect(answer.status).toBe(422);
      expect(answer.json).toMatchObject({ message: `${field} is missing` });
    });

    it('answers 422 to a time in quotes, and says so', async () => {
      const answer = await ask({ ...window, startTime: `${window.startTime}` });
      expect(answer.json).toMatchObject({ message: 'startTime must be an integer number' });
    });

    it('answers 422 when times are in milliseconds', async () => {
      expect((await ask({ ...window, endTime: NOW * 1000 })).status).toBe(422);
    });

    it('answers 422 when the machine does not exist', async () => {
      expect((await ask({ ...window, machineId: 'M-999' })).status).toBe(422);
    });

    it('answers 204 when there is no data', async () => {
      expect((await ask({ ...window, machineId: NO_DATA })).status).toBe(204);
    });

    it('answers 204 for a window in the future and for one without length', async () => {
      expect((await ask({ ...window, startTime: NOW + DAY, endTime: NOW + 2 * DAY })).status).toBe(
        204,
      );
      expect((await ask({ ...window, startTime: NOW - 30, endTime: NOW - 30 })).status).toBe(204);
    });
  });

  describe('MachineClassification', () => {
    const path = `machineClassifications?machineId=${MACHINE}`;

    it('returns the reasons of the machine as pairs of name and code', async () => {
      const { reasons } = (await sandbox.service('GET', path)).json as { reasons: object[] };
      expect(reasons).toHaveLength(13);
      expect(reasons).toContainEqual({ name: 'Waiting for quality release', code: '22' });
    });

    it('answers a POST with an empty body and a JSON content type alike', async () => {
      const posted = await sandbox.service('POST', path, { body: '' });
      expect(posted.status).toBe(200);
      expect(posted.json).toEqual((await sandbox.service('GET', path)).json);
    });

    it.each(['GET', 'POST'])('answers %s with 422: machine ID missing', async (method) => {
      expect((await sandbox.service(method, 'machineClassifications')).status).toBe(422);
    });

    it.each(['GET', 'POST'])('answers %s with 404: machine ID not found', async (method) => {
      const answer = await sandbox.service(method, 'machineClassifications?machineId=M-999');
      expect(answer.status).toBe(404);
    });

    it.each(['GET', 'POST'])('answers %s with 204: result list is empty', async (method) => {
      const answer = await sandbox.service(
        method,
        `machineClassifications?machineId=${NO_REASONS}`,
      );
      expect(answer.status).toBe(204);
    });
  });

  describe('setMachineClassification', () => {
    const set = (body: object) => sandbox.service('POST', 'machineClassification', { body });

    it.each(['reasonId', 'reason'])('takes the reason in the field %s', async (field) => {
      const { startTime } = classification;
      const answer = await set({ machineId: 'M-002', startTime, [field]: '21' });
      expect([answer.status, answer.text]).toEqual([200, '']);
      const { json } = await sandbox.control('GET', 'machines/M-002');
      const { classificationsReceived } = json as { classificationsReceived: object[] };
      expect(classificationsReceived.at(-1)).toMatchObject({ startTime, reasonId: '21' });
    });

    it.each([undefined, null, ''])('takes an end time of %j as open-ended', async (endTime) => {
      expect((await set({ ...classification, endTime })).status).toBe(200);
      const { json } = await sandbox.control('GET', `machines/${MACHINE}`);
      expect(
        (json as { classificationsReceived: object[] }).classificationsReceived.at(-1),
      ).toMatchObject({
        endTime: null,
      });
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

    it('takes a start time of this very second', async () => {
      expect((await set({ ...classification, startTime: NOW })).status).toBe(200);
    });
  });

  describe('setWorkOrderList', () => {
    const put = (body: unknown) => sandbox.service('PUT', 'workOrderList', { body });
    const ordersOf = async (machineId: string) => {
      const { json } = await sandbox.control('GET', `machines/${machineId}`);
      return (json as { workingOrders: string[] }).workingOrders;
    };

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

    it('answers 422: machine ID missing', async () => {
      expect((await put({ machines: [{ workingOrders: ['1'] }] })).status).toBe(422);
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

    it.each([{}, [], 7, { machines: 'M-001' }, { machines: [{ machineId: MACHINE }] }])(
      'answers 422 to a body that is no list of machines: %j',
      async (body) => {
        expect((await put(body)).status).toBe(422);
      },
    );

    it.each([
      [{}, 'machines is missing'],
      [{ machines: {} }, 'machines must be an array'],
      [{ machines: [[]] }, 'each value in machines must be an object'],
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
    ])('says of the body %j what is wrong with it', async (body, message) => {
      expect((await put(body)).json).toMatchObject({ message });
    });
  });

  describe('where the interface is silent', () => {
    it('answers 400 in the one error shape to a body that is not JSON', async () => {
      const answer = await sandbox.service('PUT', 'workOrderList', { body: '{"machines":' });
      expect(answer.json).toEqual({
        statusCode: 400,
        error: 'Bad Request',
        message: expect.any(String) as string,
      });
    });

    it('answers 413 to a body above 1 MiB and 415 to one that is not JSON by its type', async () => {
      const body = JSON.stringify({ machines: 'x'.repeat(1024 * 1024) });
      expect((await sandbox.service('PUT', 'workOrderList', { body })).status).toBe(413);
      const headers = { 'content-type': 'text/plain' };
      const answer = await sandbox.service('PUT', 'workOrderList', { body: '{}', headers });
      expect(answer.status).toBe(415);
    });

    it('answers 405 to a method the operation does not have, and names those it has', async () => {
      const answer = await sandbox.service('DELETE', 'machineClassifications');
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, POST']);
    });

    it('answers 404 outside the interface', async () => {
      const answer = await sandbox.service('GET', 'nothing');
      expect(answer.json).toMatchObject({ statusCode: 404 });
    });
  });
});
