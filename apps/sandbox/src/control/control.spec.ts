import { realDelayMs } from '#libs/clock';
import { NOW, type RunningSandbox, runSandbox } from '../testing/running-sandbox.js';
import { type Call, CallLog } from './call-log.js';
import type { Fault } from './fault-board.js';

const HTML = 'text/html; charset=utf-8';
const INFO = ['GET', 'mahcineInfo'] as const;
const refusal = (why: string) => ({
  statusCode: 400,
  message: expect.stringContaining(why) as string,
});

const MIB = 1024 * 1024;

const CALL: Omit<Call, 'sequence'> = {
  ...{ receivedAt: 0, startedAtMs: 0, endedAtMs: null, carriedOutAtMs: null },
  ...{ operation: 'getMachineInfo', method: 'GET', path: '/', machineIds: [] },
  ...{ body: null, traceparent: null, status: null, faultId: null },
};

describe('the control API', () => {
  let sandbox: RunningSandbox;
  beforeAll(async () => {
    sandbox = await runSandbox();
  });
  afterAll(() => sandbox.close());
  afterEach(async () => {
    await sandbox.control('DELETE', 'faults');
    await sandbox.control('DELETE', 'calls');
  });

  const place = async (fault: object) => {
    const answer = await sandbox.control('POST', 'faults', fault);
    expect(answer.status).toBe(201);
    return answer.json as Fault;
  };
  const calls = async (query = '') =>
    (await sandbox.control('GET', `calls${query}`)).json as Call[];
  const untilLogged = async (count: number) => {
    for (;;) {
      const log = await calls();
      if (log.length >= count) return log;
    }
  };

  describe('faults', () => {
    it('answers with the status, Retry-After and body of the fault', async () => {
      await place({ operation: 'getMachineInfo', status: 503, retryAfter: 7, body: '<oops' });
      const response = await fetch(`${sandbox.url}/api/v1/mahcineInfo`, {
        headers: { authorization: 'Bearer sandbox-token' },
      });
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '7']);
      expect(await response.text()).toBe('<oops');
    });

    it('applies to every operation unless one is named', async () => {
      await place({ operation: 'setWorkOrderList', status: 500 });
      expect((await sandbox.service(...INFO)).status).toBe(200);
      expect(await place({ status: 500 })).toMatchObject({ operation: '*' });
      expect((await sandbox.service(...INFO)).status).toBe(500);
    });

    it.each([
      ['MachineActivityLog', 'getMachineActivityLog'],
      ['MachineClassification', 'getClassificationReasons'],
    ])('takes %s, as the interface has it, for %s', async (name, operation) => {
      expect(await place({ operation: name, status: 500 })).toMatchObject({ operation });
    });

    it('applies to the share of calls in rate', async () => {
      await place({ operation: '*', status: 500, rate: 0.5 });
      let failed = 0;
      for (let call = 0; call < 60; call += 1) {
        if ((await sandbox.service(...INFO)).status === 500) failed += 1;
      }
      expect(failed).toBeGreaterThan(10);
      expect(failed).toBeLessThan(50);
    });

    it('is removed after its duration', async () => {
      await place({ operation: '*', status: 500, durationSeconds: 0 });
      expect((await sandbox.service(...INFO)).status).toBe(200);
    });

    it('treats a null field as absent', async () => {
      const nothing = { machineId: null, rate: null, drop: null, body: null, lagSeconds: null };
      expect(await place({ ...nothing, status: 500 })).not.toHaveProperty('machineId');
      expect((await sandbox.service(...INFO)).status).toBe(500);
      const { json } = await sandbox.control('PUT', 'faults', [{ ...nothing, status: 502 }]);
      expect(json).not.toMatchObject([{ machineId: null }]);
      expect((await sandbox.service(...INFO)).status).toBe(502);
      const answer = await sandbox.control('POST', 'faults', { status: null });
      expect(answer.json).toMatchObject(refusal('is needed'));
    });

    it('applies to a list of several machines with its machine', async () => {
      const { id } = await place({ operation: '*', machineId: 'M-002', status: 500 });
      const put = (machineId: string) =>
        sandbox.service('PUT', 'workOrderList', {
          body: {
            machines: ['M-001', machineId].map((m) => ({ machineId: m, workingOrders: [] })),
          },
        });
      expect((await put('M-003')).status).toBe(200);
      expect((await put('M-002')).status).toBe(500);
      expect((await calls()).map((call) => call.faultId)).toEqual([null, id]);
    });

    it.each([
      [{ factoryId: 'F-2' }, [200, 500, 500]],
      [{ machineIds: ['M-001', 'M-008'] }, [500, 200, 500]],
      [{ factoryId: 'F-2', machineIds: ['M-001', 'M-008'] }, [200, 200, 500]],
    ])('befalls the part of the fleet that %j names', async (part, expected) => {
      await place({ operation: '*', status: 500, ...part });
      const statuses = [];
      for (const machineId of ['M-001', 'M-007', 'M-008']) {
        statuses.push((await sandbox.service('GET', `machineState?machineId=${machineId}`)).status);
      }
      expect(statuses).toEqual(expected);
      expect((await sandbox.service(...INFO)).status).toBe(200);
    });

    it.each([
      ['nothing', { body: '' }, [200, 'application/json; charset=utf-8', '']],
      ['an empty list', { body: '[]' }, [200, 'application/json; charset=utf-8', '[]']],
      ['no data', { status: 204 }, [204, null, '']],
      [
        'a page of a gateway',
        { status: 404, body: '<html>', contentType: HTML },
        [404, HTML, '<html>'],
      ],
    ])('answers %s as often as the fault says', async (_, fault, expected) => {
      await place({ operation: 'getMachineInfo', count: 2, ...fault });
      for (let call = 0; call < 2; call += 1) {
        const { status, headers, text } = await sandbox.service(...INFO);
        expect([status, headers.get('content-type'), text]).toEqual(expected);
      }
      expect((await sandbox.service(...INFO)).json).toHaveLength(12);
      expect((await sandbox.control('GET', 'faults')).json).toEqual([]);
    });

    it('delays the true answer by its latency', async () => {
      await place({ operation: '*', latencyMs: 60 });
      expect((await sandbox.service(...INFO)).status).toBe(200);
      const [call] = await calls();
      expect(call!.endedAtMs! - call!.startedAtMs).toBeGreaterThanOrEqual(59);
    });

    it('drops the connection and logs that the call had no answer', async () => {
      await place({ operation: '*', drop: true });
      await expect(sandbox.service(...INFO)).rejects.toThrow('fetch failed');
      expect(await calls()).toMatchObject([
        { status: null, endedAtMs: expect.any(Number) as number },
      ]);
    });

    it('hangs until the caller gives up, and is logged as in progress until then', async () => {
      await place({ operation: '*', hang: true });
      const caller = new AbortController();
      const failed = expect(sandbox.service(...INFO, { signal: caller.signal })).rejects.toThrow();
      const [call] = await untilLogged(1);
      expect(call).toMatchObject({ status: null, endedAtMs: null });
      caller.abort();
      await failed;
    });

    it.each([
      ['drop', { drop: true }],
      ['hang', { hang: true }],
    ])('carries the call out before a late %s', async (how, effect) => {
      await place({ operation: 'setWorkOrderList', afterApplying: true, count: 1, ...effect });
      const body = { machines: [{ machineId: 'M-001', workingOrders: [how] }] };
      const caller = new AbortController();
      const call = sandbox.service('PUT', 'workOrderList', { body, signal: caller.signal });
      const failed = expect(call).rejects.toThrow();
      let orders: unknown;
      do {
        const { json } = await sandbox.control('GET', 'machines/M-001');
        orders = (json as { workingOrders: unknown }).workingOrders;
      } while (JSON.stringify(orders) !== JSON.stringify([how]));
      caller.abort();
      await failed;
    });

    it('replaces or delays the answer of a call that was carried out', async () => {
      await place({ operation: '*', afterApplying: true, status: 504, count: 1 });
      await place({ operation: '*', afterApplying: true, latencyMs: 10, count: 1 });
      expect((await sandbox.service(...INFO)).json).toMatchObject({ statusCode: 504 });
      expect((await sandbox.service(...INFO)).status).toBe(200);
    });

    it('is removed by its id, or with all others', async () => {
      const { id } = await place({ operation: '*', status: 500 });
      await place({ operation: '*', status: 502 });
      expect((await sandbox.control('DELETE', `faults/${id}`)).status).toBe(204);
      expect((await sandbox.control('DELETE', `faults/${id}`)).status).toBe(404);
      expect((await sandbox.service(...INFO)).status).toBe(502);
      await sandbox.control('DELETE', 'faults');
      expect((await sandbox.service(...INFO)).status).toBe(200);
    });

    it('is replaced with all others at once', async () => {
      await place({ operation: '*', status: 500 });
      const faults = [
        { operation: 'getMachineInfo', status: 503 },
        { operation: 'setWorkOrderList', status: 422 },
      ];
      const { status, json } = await sandbox.control('PUT', 'faults', faults);
      expect([status, json]).toMatchObject([200, faults]);
      expect((await sandbox.control('GET', 'faults')).json).toEqual(json);
      expect((await sandbox.service(...INFO)).status).toBe(503);
      expect((await sandbox.control('PUT', 'faults', [])).json).toEqual([]);
      expect((await sandbox.service(...INFO)).status).toBe(200);
    });

    it.each([
      [[{ status: 503 }, { operation: '*' }], 'is needed'],
      [[{ status: 503 }, { status: 99, statuss: 1 }], 'statuss'],
      [[{ status: 503 }, 7], 'operation'],
      [{ status: 503 }, 'array'],
    ])('keeps the faults in force when one of the new ones is wrong: %j', async (faults, why) => {
      await place({ operation: '*', status: 500 });
      const answer = await sandbox.control('PUT', 'faults', faults);
      expect(answer.json).toMatchObject(refusal(why));
      expect((await sandbox.service(...INFO)).status).toBe(500);
    });
  });

  describe('the log of calls', () => {
    beforeEach(async () => {
      await sandbox.close();
      sandbox = await runSandbox();
    });

    it('has operation, machines, body, status and times of each call', async () => {
      const body = { machineId: 'M-001', startTime: NOW + 1, reasonId: '22' };
      await sandbox.service('POST', 'machineClassification', { body });
      expect(await calls()).toEqual([
        {
          sequence: 1,
          receivedAt: NOW,
          startedAtMs: expect.any(Number) as number,
          endedAtMs: expect.any(Number) as number,
          carriedOutAtMs: null,
          operation: 'setMachineClassification',
          method: 'POST',
          path: '/api/v1/machineClassification',
          machineIds: ['M-001'],
          traceparent: null,
          body,
          status: 422,
          faultId: null,
        },
      ]);
    });

    it('is filtered by operation, machine and sequence number, and emptied', async () => {
      await sandbox.service(...INFO);
      await sandbox.service('GET', 'machineState?machineId=M-001');
      await sandbox.service('GET', 'machineState?machineId=M-002');
      const sequences = async (query: string) => (await calls(query)).map((call) => call.sequence);
      expect(await sequences('?operation=getMachineState')).toEqual([2, 3]);
      expect(await sequences('?machineId=M-002')).toEqual([3]);
      expect(await sequences('?since=1')).toEqual([2, 3]);
      expect(await sequences('?limit=2')).toEqual([1, 2]);
      expect(await sequences('?since=1&limit=1')).toEqual([2]);
      expect(await sequences('?since=3&limit=1')).toEqual([]);
      expect((await sandbox.control('GET', 'calls/extent')).json).toEqual({ oldest: 1, newest: 3 });
      await sandbox.control('DELETE', 'calls');
      await sandbox.service(...INFO);
      expect(await sequences('')).toEqual([4]);
    });

    it.each<[string, (text: string) => RequestInit]>([
      ['with', (body) => ({ body })],
      ['without', (text) => ({ body: new Blob([text]).stream(), duplex: 'half' })],
    ])('is bounded by the size of bodies, %s content-length', async (_, bodyOf) => {
      sandbox.callLog.logCall(CALL, 63.5 * MIB);
      const answer = await fetch(`${sandbox.url}/api/v1/workOrderList`, {
        method: 'PUT',
        headers: { authorization: 'Bearer sandbox-token', 'content-type': 'application/json' },
        ...bodyOf(JSON.stringify({ padding: 'x'.repeat(MIB - 100) })),
      });
      expect(answer.status).toBe(422);
      const { json } = await sandbox.control('GET', 'calls/extent');
      expect(json).toEqual({ oldest: 2, newest: 2 });
    });

    it('has the time at which a call was carried out, also if its caller received another answer', async () => {
      const put = (signal?: AbortSignal) =>
        sandbox.service('PUT', 'workOrderList', {
          body: { machines: [{ machineId: 'M-001', workingOrders: ['late'] }] },
          ...(signal && { signal }),
        });
      await place({ operation: '*', status: 200, count: 1 });
      await put();
      await place({ operation: '*', drop: true, afterApplying: true, count: 1 });
      await expect(put()).rejects.toThrow();
      await place({ operation: '*', latencyMs: 2000, count: 1 });
      const caller = new AbortController();
      const failed = expect(put(caller.signal)).rejects.toThrow();
      await untilLogged(3);
      caller.abort();
      await failed;
      let log: Call[] = [];
      while (log[2]?.carriedOutAtMs == null) {
        await realDelayMs(20);
        log = await calls();
      }
      const [replaced, dropped, abandoned] = log;
      expect(replaced).toMatchObject({ status: 200, carriedOutAtMs: null });
      expect(dropped!.status).toBeNull();
      expect(dropped!.carriedOutAtMs).toBeLessThanOrEqual(dropped!.endedAtMs!);
      expect(abandoned.status).toBeNull();
      expect(abandoned.carriedOutAtMs).toBeGreaterThan(abandoned.endedAtMs!);
    });

    it('never has the password of a login', async () => {
      const body = { userEmail: 'a', password: 'secret' };
      await sandbox.service('POST', 'security/getAPIToken', { body });
      expect(JSON.stringify(await calls())).not.toContain('secret');
    });
  });

  describe('the true states', () => {
    it('are listed with the visible state of each machine', async () => {
      const machines = (await sandbox.control('GET', 'machines')).json as object[];
      expect(machines).toHaveLength(12);
      expect(machines.at(-1)).toMatchObject({ machineId: 'M-012', visibleState: null });
    });

    it('agree with the activity log of the service', async () => {
      const [from, to] = [NOW - 86_400, NOW - 3600];
      const body = { machineId: 'M-001', startTime: from, endTime: to };
      const log = (await sandbox.service('POST', 'machineActivity', { body })).json as object[];
      const truth = await sandbox.control('GET', `machines/M-001/timeline?from=${from}&to=${to}`);
      expect(log.length).toBeGreaterThan(5);
      expect(log).toMatchObject(truth.json as object[]);
      expect(log).toHaveLength((truth.json as object[]).length);
    });

    it('are those of a timeline script that replaces the machines', async () => {
      const periods = [{ startTime: NOW - 600, state: 'IDLE' }];
      const script = { machines: [{ machineId: 'X', periods }] };
      const replaced = await runSandbox();
      expect((await replaced.control('POST', 'timeline', script)).json).toEqual({ machines: 1 });
      expect((await replaced.service(...INFO)).json).toMatchObject([{ machineUniqueId: 'X' }]);
      const state = await replaced.service('GET', 'machineState?machineId=X');
      expect(state.json).toMatchObject({ machineState: 'IDLE' });
      await replaced.close();
    });
  });
});

describe('an invalid request to the control API', () => {
  let sandbox: RunningSandbox;
  beforeAll(async () => {
    sandbox = await runSandbox();
  });
  afterAll(() => sandbox.close());
  afterEach(async () => {
    expect((await sandbox.control('GET', 'faults')).json).toEqual([]);
  });

  it.each([
    [{ operation: 'everything', status: 500 }, 'operation'],
    [{ operation: null, status: 500 }, 'operation'],
    [{ operation: '*' }, 'is needed'],
    [{ operation: '*', status: 500, drop: true }, 'exclude'],
    [{ operation: '*', drop: true, retryAfter: 3 }, 'retryAfter needs'],
    [{ operation: '*', status: 500, retryAfter: 'a\nb' }, 'retryAfter must'],
    [{ operation: '*', status: 99 }, 'status'],
    [{ operation: '*', status: 500, machineIds: [] }, 'machineIds'],
    [{ operation: '*', status: 500, contentType: 'text/html' }, 'contentType needs body'],
    [{ operation: '*', body: '', contentType: 'a\nb' }, 'contentType must'],
    [{ operation: '*', lagSeconds: 60 }, 'needs operation'],
    [{ operation: 'getMachineState', provisionalSeconds: 60 }, 'needs operation'],
    [{ operation: 'getMachineState', lagSeconds: 60, status: 500 }, 'exclude'],
    [{ operation: 'getMachineState', lagSeconds: 1e10 }, 'lagSeconds must'],
    [{ operation: 'getMachineActivityLog', provisionalSeconds: 1e10 }, 'provisionalSeconds must'],
    [{ operation: '*', rate: 2, status: 500 }, 'rate'],
    [{ operation: '*', statuss: 500 }, 'statuss'],
  ])('refuses %j with 400 and says why', async (fault, why) => {
    const answer = await sandbox.control('POST', 'faults', fault);
    expect(answer.json).toMatchObject(refusal(why));
  });

  it.each([
    ['PUT', 'options', { clockOffsetSeconds: 1e10 }, refusal('clockOffsetSeconds must')],
    ['PUT', 'options', { clockOffsetSeconds: -1e10 }, refusal('clockOffsetSeconds must')],
    ['POST', 'timeline', { machines: [{ machineId: 'X' }] }, refusal('periods')],
    ['POST', 'machines/M-001/state', { state: 'BROKEN' }, { statusCode: 400 }],
    ['POST', 'machines/M-001/state', {}, { statusCode: 400 }],
    ['POST', 'machines/M-001/state', { state: 'OFF', from: 'now' }, { statusCode: 400 }],
    ['GET', 'machines/M-001/timeline?from=2&to=1', undefined, { statusCode: 400 }],
    ['GET', 'machines/M-001/timeline?from=0&to=5000000', undefined, { statusCode: 400 }],
    ['GET', 'machines/M-001/timeline?from=x', undefined, { statusCode: 400 }],
    ['GET', 'machines/M-001/timeline?from=0x10', undefined, refusal('from must be an integer')],
    ['GET', 'calls?since=0x10', undefined, refusal('since must be an integer')],
    ['GET', 'calls?since=', undefined, refusal('since must be an integer')],
    ['GET', 'calls?since=-1', undefined, refusal('since must not be less')],
    ['GET', 'calls?limit=1e2', undefined, refusal('limit must be an integer')],
    ['GET', 'machines/M-999', undefined, { statusCode: 404 }],
    ['GET', 'machines/M-999/timeline', undefined, { statusCode: 404 }],
  ])('%s %s with %j is refused', async (method, path, body, answer) => {
    const { status, json } = await sandbox.control(method, path, body);
    expect(json).toMatchObject({ ...answer, statusCode: status });
    expect(status).toBeGreaterThanOrEqual(400);
  });
});

describe('the log of calls', () => {
  it('deletes the oldest calls above 100,000', () => {
    const log = new CallLog();
    for (let call = 0; call < 100_002; call += 1) log.logCall(CALL, 1);
    expect(log.listCalls({ since: 99_999 })).toHaveLength(3);
    expect(log.listCalls()[0]!.sequence).toBe(3);
    expect(log.extent).toEqual({ oldest: 3, newest: 100_002 });
  });
});
