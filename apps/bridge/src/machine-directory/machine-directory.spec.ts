import { getEventListeners } from 'node:events';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Registry } from 'prom-client';
import { ManualClock, realDelayMs, realNowMs } from '#libs/clock';
import type { HttpAnswer, IncompleteEntries, MachineCloudClient } from '#libs/cloud-client';
import { respond, StubService } from '../../../../libs/http-calls/test/stub-service.js';
import { bridgeSettings, clientOf } from '../platform/testing/bridge-settings.js';
import { MachineDirectory } from './machine-directory.js';
import { ReasonLists } from './reason-lists.js';
import { LOOK_UP_GAP_MS, RecentMisses, SharedLookUp } from './look-ups.js';
import { whenListed } from './testing/when-listed.js';
import { PassedOverEntries } from './passed-over-entries.js';

const MILL = {
  machineDisplayName: 'Mill',
  machineUniqueId: 'M-1',
  factoryId: 'F-1',
  factoryName: 'Plant',
};
const never = new AbortController().signal;

interface Answer {
  status: number;
  body?: unknown;
  retryAfter?: string;
}

describe('MachineDirectory', () => {
  let service: StubService;
  let client: MachineCloudClient;
  let reasons: ReasonLists;
  let directory: MachineDirectory;
  let clock: ManualClock;
  let machines: Answer;
  let reasonList: Answer;
  let calls: string[];
  let skippedMs: number;

  /** Ends the wait between two look-ups: the clock stands still otherwise, however long a test takes. */
  const passGap = (): void => {
    skippedMs += LOOK_UP_GAP_MS;
  };

  const readAgain = async (): Promise<void> => {
    passGap();
    await directory.refreshList();
  };

  beforeEach(async () => {
    skippedMs = 0;
    const startMs = realNowMs();
    jest.spyOn(performance, 'now').mockImplementation(() => startMs + skippedMs);
    machines = { status: 200, body: [MILL] };
    reasonList = { status: 200, body: { reasons: [{ name: 'Jam', code: '22' }] } };
    calls = [];
    service = await StubService.start();
    service.answers((request, response) => {
      const { url = '' } = request;
      calls.push(url);
      const answer = url.includes('lassification') ? reasonList : machines;
      const { status, body, retryAfter } = answer;
      const headers = retryAfter === undefined ? undefined : { 'retry-after': retryAfter };
      respond(status, body, headers)(request, response);
    });
    const settings = bridgeSettings({ MACHINE_CLOUD_BASE_URL: service.baseUrl });
    clock = new ManualClock(1_763_680_000_000);
    client = clientOf(settings);
    reasons = new ReasonLists(settings, client, clock, { recordReasons: () => undefined });
    directory = new MachineDirectory(settings, client, clock, reasons);
  });

  afterEach(async () => {
    directory.beforeApplicationShutdown();
    directory.onApplicationShutdown();
    reasons.onApplicationShutdown();
    await client.closeConnections();
    await service.stop();
  });

  it('reads the machines at start, and knows them from then on without a call', async () => {
    directory.onApplicationBootstrap();
    await whenListed(directory);
    expect([...directory.machines().keys()]).toEqual(['M-1']);
    expect(directory.status).toEqual({ loadedAt: clock.nowSeconds(), problem: null });
    expect(await directory.checkMachine('M-1', never)).toBe('known');
    expect(calls).toHaveLength(1);
  });

  it('looks up a machine that is not listed, once for all callers', async () => {
    const ids = ['M-1', 'M-2', 'M-3', 'M-1'];
    const verdicts = await Promise.all(ids.map((id) => directory.checkMachine(id, never)));
    expect(verdicts).toEqual(['known', 'unknown', 'unknown', 'known']);
    expect(calls).toHaveLength(1);
  });

  it.each([429, 500, 503])(
    'cannot check a machine at present if the look-up is answered %i',
    async (status) => {
      machines = { status };
      const why = `getMachineInfo: HTTP ${status}`;
      const answer = { kind: 'unavailable', why, afterMs: null };
      expect(await directory.checkMachine('M-1', never)).toEqual(answer);
      expect(await directory.checkMachine('M-2', never)).toEqual(answer);
    },
  );

  describe('that is left out of the list', () => {
    const MILL_2 = { ...MILL, machineUniqueId: 'M-2' };
    const REFRESH_SECONDS = 300;

    it.each([
      ['once', { status: 200, body: [MILL_2] }],
      ['with all others', { status: 200, body: [] }],
      ['with all others, by a 204', { status: 204 }],
    ])(
      '%s is left to the service, and gone when the next list lacks it too',
      async (_, without) => {
        await readAgain();
        machines = without;
        await readAgain();
        passGap();
        expect(await directory.checkMachine('M-1', never)).toBe('unverifiable');
        clock.advance(REFRESH_SECONDS);
        await readAgain();
        passGap();
        expect(await directory.checkMachine('M-1', never)).toBe('unknown');
      },
    );

    it('and is back in the next one is known as before', async () => {
      await readAgain();
      machines = { status: 200, body: [] };
      await readAgain();
      machines = { status: 200, body: [MILL] };
      clock.advance(REFRESH_SECONDS);
      await readAgain();
      expect(await directory.checkMachine('M-1', never)).toBe('known');
      machines = { status: 200, body: [MILL_2] };
      await readAgain();
      expect(await directory.checkMachine('M-1', never)).toBe('unverifiable');
    });

    it('is left to the service however often the list is read before the next refresh', async () => {
      await readAgain();
      machines = { status: 200, body: [] };
      for (let time = 0; time < 3; time += 1) await readAgain();
      expect(await directory.checkMachine('M-1', never)).toBe('unverifiable');
      expect(await directory.checkMachine('M-9', never)).toBe('unverifiable');
    });

    it('is left to the service if the very first list is empty', async () => {
      machines = { status: 204 };
      expect(await directory.checkMachine('M-1', never)).toBe('unverifiable');
    });
  });

  it('does not look up an unknown machine for each message that names it, but looks up a new one', async () => {
    for (let message = 0; message < 100; message += 1) {
      expect(await directory.checkMachine('M-9', never)).toBe('unknown');
    }
    expect(calls).toHaveLength(1);
    passGap();
    machines = { status: 200, body: [MILL, { ...MILL, machineUniqueId: 'M-2' }] };
    expect(await directory.checkMachine('M-2', never)).toBe('known');
    expect(calls).toHaveLength(2);
  });

  it('looks up a machine again that was missing two seconds ago, and finds it if it was added', async () => {
    expect(await directory.checkMachine('M-2', never)).toBe('unknown');
    machines = { status: 200, body: [MILL, { ...MILL, machineUniqueId: 'M-2' }] };
    skippedMs += 2001;
    expect(await directory.checkMachine('M-2', never)).toBe('known');
    expect(calls).toHaveLength(2);
  });

  it.each([401, 403, 404])(
    'leaves every unlisted machine to the service for a while after a look-up was answered %i',
    async (status) => {
      machines = { status };
      for (let message = 0; message < 100; message += 1) {
        expect(await directory.checkMachine(`M-${message}`, never)).toBe('unverifiable');
      }
      expect(directory.status.problem).toContain(String(status));
      expect(calls.filter((path) => path.endsWith('mahcineInfo'))).toHaveLength(1);
      machines = { status: 200, body: [MILL] };
      await readAgain();
      passGap();
      expect(await directory.checkMachine('M-99', never)).toBe('unknown');
    },
  );

  it('still reads the list after a defect, and logs its error', async () => {
    const failure = new Error('a defect');
    const error = jest.spyOn(Logger.prototype, 'error').mockReturnValue(undefined);
    jest.spyOn(directory, 'refreshList').mockRejectedValueOnce(failure);
    directory.onApplicationBootstrap();
    await whenListed(directory);
    expect(error).toHaveBeenCalledWith({ msg: 'the machine list is not refreshed', err: failure });
  });

  it('logs the error of a listener that fails', async () => {
    const failure = new Error('a defect');
    const logged = new Promise((resolve) => {
      jest.spyOn(Logger.prototype, 'error').mockImplementation(resolve);
    });
    directory.onRefresh(() => {
      throw failure;
    });
    directory.onApplicationBootstrap();
    expect(await logged).toMatchObject({ err: failure });
  });

  describe('of a list with incomplete entries', () => {
    const { factoryId, ...homeless } = { ...MILL, machineUniqueId: 'M-2' };

    const metrics = async (): Promise<string> => {
      const registry = new Registry();
      for (const metric of directory.metrics) registry.registerMetric(metric);
      return registry.metrics();
    };

    it('knows the machines of the other entries, and counts those passed over', async () => {
      const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
      machines = { status: 200, body: [null, MILL, homeless] };
      await directory.refreshList();
      await readAgain();
      expect([...directory.machines().keys()]).toEqual(['M-1']);
      expect(directory.status.problem).toBeNull();
      const why = '[0] is null, expected an object';
      const msg = 'incomplete entries are passed over';
      expect(warn.mock.calls).toEqual([[{ msg, list: 'machines', count: 2, why }]]);
      const gauge = 'machine_bridge_directory_incomplete_entries';
      expect(await metrics()).toContain(`${gauge}{list="machines"} 2`);
      machines = { status: 200, body: [MILL] };
      await readAgain();
      expect(await metrics()).toContain(`${gauge}{list="machines"} 0`);
    });

    it('leaves a machine with only an id to the service', async () => {
      machines = { status: 200, body: [MILL, homeless] };
      expect(await directory.checkMachine('M-2', never)).toBe('unverifiable');
      expect(await directory.checkMachine('M-2', never)).toBe('unverifiable');
      passGap();
      expect(await directory.checkMachine('M-3', never)).toBe('unknown');
      expect(calls).toHaveLength(2);
    });

    it('does not treat a machine with an incomplete entry as gone', async () => {
      machines = { status: 200, body: [MILL, { ...homeless, factoryId }] };
      await directory.refreshList();
      machines = { status: 200, body: [MILL, homeless] };
      await readAgain();
      expect(directory.machines().get('M-2')).toMatchObject({ machineId: 'M-2', factoryId: 'F-1' });
      machines = { status: 200, body: [MILL] };
      await readAgain();
      expect(directory.hasMachine('M-2')).toBe(false);
    });

    it('knows the reasons of the other entries', async () => {
      const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
      await directory.refreshList();
      reasonList = { status: 200, body: { reasons: [{ name: 'No code' }, { code: '22' }] } };
      expect(await reasons.checkReason('M-1', '22', never)).toBe('known');
      expect(warn.mock.calls).toEqual([
        [expect.objectContaining({ list: 'reasons', machineId: 'M-1', count: 1 })],
      ]);
      expect(await metrics()).toContain('entries{list="reasons"} 1');
    });
  });

  it('stops waiting when its caller aborts', async () => {
    const waiter = new AbortController();
    const check = directory.checkMachine('M-9', waiter.signal);
    waiter.abort(new Error('enough'));
    await expect(check).rejects.toThrow('enough');
    await expect(reasons.checkReason('M-9', '22', waiter.signal)).rejects.toThrow('enough');
  });

  it('reads reasons once for a refresh and a command that waits for them, and keeps them', async () => {
    const read = reasons.refreshReasons('M-1', never);
    expect(await reasons.checkReason('M-1', '22', never)).toBe('known');
    expect(await read).toMatchObject({ kind: 'data' });
    expect(await reasons.checkReason('M-1', '22', never)).toBe('known');
    expect(calls).toHaveLength(1);
  });

  it('keeps no list of reasons that no command has needed', async () => {
    await reasons.refreshReasons('M-1', never);
    expect(await reasons.checkReason('M-1', '22', never)).toBe('known');
    expect(calls).toHaveLength(2);
  });

  it('keeps the reasons of more machines than it has look-ups of, whatever was read since', async () => {
    let reads = 0;
    client.getClassificationReasons = () => {
      reads += 1;
      return Promise.resolve({ kind: 'data', data: [{ name: 'Jam', code: '22' }] });
    };
    const machineIds = Array.from({ length: 11_000 }, (_, index) => `M-${index}`);
    const checkAll = () =>
      Promise.all(machineIds.map((id) => reasons.checkReason(id, '22', never)));
    expect(new Set(await checkAll())).toEqual(new Set(['known']));
    expect(machineIds.every((id) => reasons.hasReason(id, '22'))).toBe(true);
    await checkAll();
    expect(reads).toBe(machineIds.length);
  });

  it('does not read the reasons of a machine for a caller that gave up before its turn', async () => {
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const read = jest.spyOn(client, 'getClassificationReasons').mockImplementation(async () => {
      await answered;
      return { kind: 'data', data: [{ name: 'Jam', code: '22' }] };
    });
    const machineIds = Array.from({ length: 100 }, (_, index) => `M-${index}`);
    const first = machineIds.map((id) => reasons.checkReason(id, '22', never));
    const waiter = new AbortController();
    const left = reasons.checkReason('M-left', '22', waiter.signal);
    const last = reasons.checkReason('M-last', '22', never);
    waiter.abort(new Error('enough'));
    await expect(left).rejects.toThrow('enough');

    answer();
    expect(new Set(await Promise.all([...first, last]))).toEqual(new Set(['known']));
    expect(read.mock.calls.map(([id]) => id)).toEqual([...machineIds, 'M-last']);
  });

  it('looks up a reason again that was added since', async () => {
    await reasons.checkReason('M-1', '22', never);
    passGap();
    reasonList = { status: 200, body: { reasons: [{ name: 'New', code: '23' }] } };
    expect(await reasons.checkReason('M-1', '23', never)).toBe('known');
  });

  it('does not look up an unknown reason for each message that names it', async () => {
    for (let message = 0; message < 100; message += 1) {
      expect(await reasons.checkReason('M-1', '99', never)).toBe('unknown');
    }
    expect(calls).toHaveLength(1);
    reasonList = { status: 204 };
    expect(await reasons.checkReason('M-2', '22', never)).toBe('unknown');
  });

  it('does not look up a reason again that a look-up since the arrival of its message has not found', async () => {
    const cameMs = performance.now() - 1;
    const codes = ['97', '98', '99'];
    for (const code of codes) {
      expect(await reasons.checkReason('M-1', code, never, cameMs)).toBe('unknown');
    }
    expect(calls).toHaveLength(1);
    passGap();
    expect(await reasons.checkReason('M-1', '97', never, performance.now())).toBe('unknown');
    expect(calls).toHaveLength(2);
  });

  it('looks up a reason for a message that has waited for long: it may have been added since', async () => {
    const cameMs = performance.now();
    expect(await reasons.checkReason('M-1', '98', never, cameMs)).toBe('unknown');
    reasonList.body = { reasons: [{ name: 'Setup', code: '97' }] };
    skippedMs += 30_000;
    expect(await reasons.checkReason('M-1', '97', never, cameMs)).toBe('known');
  });

  it('does not use an empty list as an answer for other reasons', async () => {
    const cameMs = performance.now();
    const { body } = reasonList;
    reasonList.body = { reasons: [] };
    expect(await reasons.checkReason('M-1', '98', never, cameMs)).toBe('unknown');
    reasonList.body = body;
    passGap();
    expect(await reasons.checkReason('M-1', '22', never, cameMs)).toBe('known');
  });

  it.each([403, 404])(
    "leaves a machine's reasons to the service for a while once a look-up was answered %i",
    async (status) => {
      reasonList = { status };
      for (let message = 0; message < 100; message += 1) {
        expect(await reasons.checkReason('M-1', String(message), never)).toBe('unverifiable');
      }
      expect(calls.filter((path) => path.includes('M-1')).length).toBeLessThanOrEqual(2);
      reasonList = { status: 200, body: { reasons: [{ name: 'Jam', code: '22' }] } };
      expect(await reasons.checkReason('M-2', '22', never)).toBe('known');
    },
  );

  it('still knows a reason of an old list that cannot be read, but none of a list never read', async () => {
    await reasons.checkReason('M-1', '22', never);
    passGap();
    clock.advance(3601);
    reasonList = { status: 503 };
    expect(await reasons.checkReason('M-1', '22', never)).toBe('known');
    expect(await reasons.checkReason('M-1', '22', never)).toBe('known');
    expect(calls).toHaveLength(2);
    const why = 'getClassificationReasons: HTTP 503';
    const unavailable = { kind: 'unavailable', why, afterMs: null };
    expect(await reasons.checkReason('M-2', '22', never)).toEqual(unavailable);
  });

  it('reads reasons again when they are old', async () => {
    await reasons.checkReason('M-1', '22', never);
    passGap();
    clock.advance(3601);
    reasonList = { status: 200, body: { reasons: [{ name: 'New', code: '23' }] } };
    expect(await reasons.checkReason('M-1', '22', never)).toBe('unknown');
  });

  it.each([
    ['a 204', { status: 204 }],
    ['no reasons', { status: 200, body: { reasons: [] } }],
  ])('leaves reasons to the service that %s has wiped out once', async (_, empty) => {
    await reasons.checkReason('M-1', '22', never);
    passGap();
    reasonList = empty;
    expect(await reasons.checkReason('M-1', 'new', never)).toBe('unverifiable');
    expect(await reasons.checkReason('M-1', '22', never)).toBe('known');
    passGap();
    clock.advance(3601);
    await reasons.refreshReasons('M-1', never);
    passGap();
    expect(await reasons.checkReason('M-1', '22', never)).toBe('unknown');
  });

  describe('asked by the service to wait', () => {
    const later = (ms: number): void => {
      skippedMs += ms;
    };

    it('does not read the list of machines before that, for any caller', async () => {
      machines = { status: 429, retryAfter: '25' };
      const first = await directory.checkMachine('M-9', never);
      expect(first).toMatchObject({ kind: 'unavailable', afterMs: 25_000 });
      machines = { status: 200, body: [MILL] };
      later(20_000);
      expect(await directory.refreshList()).toMatchObject({ kind: 'retry' });
      const other = await directory.checkMachine('M-1', never);
      expect(other).toMatchObject({ kind: 'unavailable', why: 'getMachineInfo: HTTP 429' });
      expect(calls).toHaveLength(1);
      later(5001);
      expect(await directory.checkMachine('M-1', never)).toBe('known');
    });

    it('does not read the reasons of a machine before that, for any caller', async () => {
      reasonList = { status: 429, retryAfter: '25' };
      expect(await reasons.refreshReasons('M-1', never)).toMatchObject({
        kind: 'retry',
        afterMs: 25_000,
      });
      reasonList = { status: 200, body: { reasons: [{ name: 'Jam', code: '22' }] } };
      later(20_000);
      expect(await reasons.checkReason('M-1', '22', never)).toMatchObject({
        kind: 'unavailable',
        why: 'getClassificationReasons: HTTP 429',
      });
      expect(await reasons.refreshReasons('M-1', never)).toMatchObject({ kind: 'retry' });
      expect(calls).toHaveLength(1);
      expect(await reasons.checkReason('M-2', '22', never)).toBe('known');
      later(5001);
      expect(await reasons.checkReason('M-1', '22', never)).toBe('known');
    });
  });
});

const GAP_MS = 60;

const data = (value: number): HttpAnswer<number> => ({ kind: 'data', data: value });

function countedLookUp(signal = new AbortController().signal, gapMs = GAP_MS) {
  const startedAt: number[] = [];
  let hasStarted: () => void = () => undefined;
  const started = new Promise<void>((resolve) => {
    hasStarted = resolve;
  });
  const lookUp = new SharedLookUp(
    async () => {
      startedAt.push(realNowMs());
      hasStarted();
      await realDelayMs(5);
      return data(startedAt.length);
    },
    signal,
    gapMs,
  );
  return { lookUp, startedAt, started };
}

describe('a shared look-up', () => {
  it('is repeated for callers after its start, no sooner than the gap allows', async () => {
    const { lookUp, startedAt, started } = countedLookUp();
    const first = lookUp.requestLookUp();
    await started;
    expect(await Promise.all([first, lookUp.requestLookUp(), lookUp.requestLookUp()])).toEqual(
      [1, 2, 2].map(data),
    );
    expect(startedAt[1]! - startedAt[0]!).toBeGreaterThanOrEqual(GAP_MS - 2);
  });

  it('listens to the signal only while it waits, and rejects when that aborts', async () => {
    const stopping = new AbortController();
    const listeners = (): number => getEventListeners(stopping.signal, 'abort').length;
    const { lookUp, started } = countedLookUp(stopping.signal, 60_000);
    const first = lookUp.requestLookUp();
    await started;
    expect(listeners()).toBe(0);
    await first;
    const waiting = lookUp.requestLookUp();
    await realDelayMs(0);
    expect(listeners()).toBe(1);
    stopping.abort(new Error('stopping'));
    await expect(waiting).rejects.toThrow('stopping');
  });

  it('is repeated after one that threw', async () => {
    let calls = 0;
    const lookUp = new SharedLookUp(
      () => Promise.reject(new Error(`failure ${(calls += 1)}`)),
      new AbortController().signal,
      0,
    );
    await expect(lookUp.requestLookUp()).rejects.toThrow('failure 1');
    await expect(lookUp.requestLookUp()).rejects.toThrow('failure 2');
  });
});

describe('RecentMisses', () => {
  let nowMs: number;
  let misses: RecentMisses;

  beforeEach(() => {
    nowMs = 1000;
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    misses = new RecentMisses(2);
  });

  it('treats them as unknown from the latest look-up on, whatever its purpose', () => {
    misses.recordMissed('M-1');
    nowMs += 1500;
    misses.recordFound(new Set(['M-2']));
    nowMs += 1999;
    expect(misses.answerTo('M-1')).toBe('unknown');
    nowMs += 1;
    expect(misses.answerTo('M-1')).toBeUndefined();
  });

  it('keeps the latest names up to its capacity', () => {
    for (const name of ['M-1', 'M-2', 'M-1', 'M-3']) misses.recordMissed(name);
    const answers = ['M-1', 'M-2', 'M-3'].map((name) => misses.answerTo(name));
    expect(answers).toEqual(['unknown', undefined, 'unknown']);
  });
});

const lacking = (count: number, why: string): IncompleteEntries => ({ count, why, ids: ['M-7'] });

describe('PassedOverEntries', () => {
  let logged: unknown[];

  beforeEach(() => {
    logged = [];
    for (const level of ['log', 'warn'] as const) {
      jest.spyOn(Logger.prototype, level).mockImplementation((line: unknown) => logged.push(line));
    }
  });

  it('logs entries once, in any order, and when there are more, or others, or none', () => {
    const entries = new PassedOverEntries('reasons');
    entries.recordList('M-1', undefined);
    entries.recordList('M-1', lacking(1, '[4].code is absent'));
    entries.recordList('M-1', lacking(1, '[7].code is absent'));
    entries.recordList('M-1', lacking(2, '[4].code is absent'));
    entries.recordList('M-1', lacking(2, '[4] is null'));
    entries.recordList('M-1', undefined);
    expect(logged).toMatchObject([
      { machineId: 'M-1', count: 1, why: '[4].code is absent' },
      { machineId: 'M-1', count: 2, why: '[4].code is absent' },
      { machineId: 'M-1', count: 2, why: '[4] is null' },
      { msg: 'entries are complete again', list: 'reasons', machineId: 'M-1' },
    ]);
  });

  it('counts those of all lists, or of some machines', () => {
    const entries = new PassedOverEntries('reasons');
    entries.recordList('M-1', lacking(2, 'why'));
    entries.recordList('M-2', lacking(3, 'why'));
    expect(entries.countEntries()).toBe(5);
    expect(entries.countEntries(new Set(['M-2', 'M-3']))).toBe(3);
    entries.recordList('M-1', undefined);
    expect(entries.countEntries()).toBe(3);
  });

  it('is bounded, and forgets the oldest list', () => {
    const entries = new PassedOverEntries('reasons');
    for (let list = 0; list < 10_100; list += 1) entries.recordList(`M-${list}`, lacking(1, 'why'));
    expect(entries.countEntries()).toBe(10_000);
    expect(entries.countEntries(new Set(['M-0']))).toBe(0);
  });
});
