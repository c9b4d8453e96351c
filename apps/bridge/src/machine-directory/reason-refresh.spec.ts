import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ManualClock, realDelayMs, realNowMs } from '#libs/clock';
import type { ClassificationReason, MachineCloudClient } from '#libs/cloud-client';
import {
  createKafka,
  IdempotentProducer,
  type OutboundRecord,
  RecordRefusedError,
} from '#libs/kafka';
import type { ClassificationReasonsRecord } from '#libs/contracts';
import { StubService } from '../../../../libs/http-calls/test/stub-service.js';
import { bridgeSettings, clientOf } from '../platform/testing/bridge-settings.js';
import { ReasonLists } from './reason-lists.js';
import { ReasonRecords } from './reason-records.js';
import { ReasonRefresh } from './reason-refresh.js';

/** Long enough for forty look-ups without a limit. */
const A_SECOND_MS = 1000;

describe('ReasonRefresh', () => {
  let service: StubService;
  let client: MachineCloudClient;
  let clock: ManualClock;
  let lists: ReasonLists;
  let producer: IdempotentProducer;
  let records: ReasonRecords;
  let refresh: ReasonRefresh;
  let status: number;
  let asked: string[];
  let underWay: number;
  let mostUnderWay: number;

  const untilRead = async (machines: readonly string[]): Promise<void> => {
    const isRead = (machineId: string): boolean =>
      records.readAtMs(machineId) === clock.monotonicMs();
    while (!machines.every(isRead)) await realDelayMs(5);
  };

  beforeEach(async () => {
    status = 422;
    asked = [];
    underWay = mostUnderWay = 0;
    service = await StubService.start();
    service.answers(({ url = '' }, response) => {
      asked.push(new URL(url, 'http://any').searchParams.get('machineId') ?? '');
      mostUnderWay = Math.max(mostUnderWay, (underWay += 1));
      setTimeout(() => {
        underWay -= 1;
        response.writeHead(status).end();
      }, 5);
    });
    const settings = bridgeSettings({ MACHINE_CLOUD_BASE_URL: service.baseUrl });
    clock = new ManualClock(1_763_680_000_000);
    client = clientOf(settings);
    producer = new IdempotentProducer(createKafka(settings.kafka));
    records = new ReasonRecords(settings, clock, producer);
    lists = new ReasonLists(settings, client, clock, records);
    refresh = new ReasonRefresh(settings, clock, lists, records);
  });

  afterEach(async () => {
    refresh.beforeApplicationShutdown();
    lists.onApplicationShutdown();
    await Promise.all([producer.closeProducer(), client.closeConnections()]);
    await service.stop();
  });

  it('uses a fifth of a rate limit', async () => {
    const settings = bridgeSettings({
      MACHINE_CLOUD_BASE_URL: service.baseUrl,
      MACHINE_CLOUD_MAX_REQUESTS_PER_SECOND: '40',
    });
    const limited = new ReasonRefresh(settings, clock, lists, records);
    const startMs = realNowMs();
    for (let index = 0; index < 40; index += 1) limited.queueIfStale(`M-${index}`);
    while (asked.length < 12 && realNowMs() < startMs + 60_000) await realDelayMs(5);
    limited.beforeApplicationShutdown();
    expect(asked.length).toBeGreaterThanOrEqual(12);
    // the first four at once, then eight a second
    expect(asked.length).toBeLessThanOrEqual(4 + (realNowMs() - startMs) / 125);
  });

  it('reads the reasons of each machine once, a few at a time, and again when they are old', async () => {
    const machines = Array.from({ length: 10 }, (_, index) => `M-${index}`);
    const remindAll = (): void => {
      for (const machineId of [...machines, ...machines]) refresh.queueIfStale(machineId);
    };
    remindAll();
    await untilRead(machines);
    remindAll();
    clock.advance(3600);
    remindAll();
    await untilRead(machines);
    expect(asked.toSorted()).toEqual([...machines, ...machines].toSorted());
    expect(mostUnderWay).toBeLessThanOrEqual(4);
  });

  it('reads reasons again once they are old, also after the wall clock was set back by a day', async () => {
    refresh.queueIfStale('M-1');
    await untilRead(['M-1']);
    clock.shiftWallClock(-86_400);
    clock.advance(3600);
    refresh.queueIfStale('M-1');
    await untilRead(['M-1']);
    expect(asked).toEqual(['M-1', 'M-1']);
  });

  it('does not read a machine that is forgotten while it waits, and reads one that returns', async () => {
    const machines = Array.from({ length: 10 }, (_, index) => `M-${index}`);
    for (const machineId of machines) refresh.queueIfStale(machineId);
    refresh.forgetReasons('M-8');
    await untilRead(machines.filter((machineId) => machineId !== 'M-8'));
    expect(asked).not.toContain('M-8');
    refresh.forgetReasons('M-0');
    expect(records.readAtMs('M-0')).toBeUndefined();
    refresh.queueIfStale('M-0');
    await untilRead(['M-0']);
    expect(asked.filter((machineId) => machineId === 'M-0')).toHaveLength(2);
  });

  it('keeps nothing of a machine that is forgotten during its look-up', async () => {
    refresh.queueIfStale('M-0');
    while (asked.length === 0) await realDelayMs(1);
    refresh.forgetReasons('M-0');
    refresh.queueIfStale('M-1');
    await untilRead(['M-1']);
    expect(records.readAtMs('M-0')).toBeUndefined();
  });

  it('continues with the other machines after an error of one, and logs why', async () => {
    const failure = new Error('a defect');
    const error = jest.spyOn(Logger.prototype, 'error').mockReturnValue(undefined);
    const read = jest.spyOn(lists, 'refreshReasons');
    for (let worker = 0; worker < 4; worker += 1) read.mockRejectedValueOnce(failure);
    const machines = Array.from({ length: 8 }, (_, index) => `M-${index}`);
    for (const machineId of machines) refresh.queueIfStale(machineId);
    await untilRead(machines.slice(4));
    expect(error).toHaveBeenCalledTimes(4);
    expect(error).toHaveBeenCalledWith({ msg: 'not refreshed', machineId: 'M-0', err: failure });
  });

  it('backs off from a service that refuses', async () => {
    status = 403;
    for (let index = 0; index < 50; index += 1) refresh.queueIfStale(`M-${index}`);
    await realDelayMs(A_SECOND_MS);
    expect(asked.length).toBeLessThan(20);
  });
});

type Refused = Awaited<ReturnType<IdempotentProducer['sendRecords']>>;

const LISTS = {
  cleaning: [{ name: 'Cleaning', code: '11' }],
  retooling: [{ name: 'Retooling', code: '12' }],
};

describe('ReasonRecords', () => {
  let records: ReasonRecords;
  /** Content of each request: machines and the code of their reason. */
  let requests: string[][];
  let answer: (refused?: Refused) => void;
  let clock: ManualClock;

  const turn = (): Promise<void> => new Promise(setImmediate);
  const read = (machineId: string, reasons: readonly ClassificationReason[]): void => {
    records.recordReasons(machineId, reasons);
  };
  const lineOf = ({ key, value }: OutboundRecord): string => {
    const { reasons } = JSON.parse(String(value)) as ClassificationReasonsRecord;
    return `${String(key)} ${reasons[0]?.code}`;
  };

  beforeEach(() => {
    requests = [];
    const sendRecords = (batch: readonly OutboundRecord[]): Promise<Refused> => {
      requests.push(batch.map(lineOf));
      return new Promise((resolve) => {
        answer = (refusedKeys = new Map()) => resolve(refusedKeys);
      });
    };
    const settings = bridgeSettings();
    const producer = { sendRecords } as unknown as IdempotentProducer;
    clock = new ManualClock(1_763_680_000_000);
    records = new ReasonRecords(settings, clock, producer);
  });
  it('writes lists that are read during a request with the next one, the latest of each machine', async () => {
    read('M-1', LISTS.cleaning);
    read('M-2', LISTS.cleaning);
    read('M-3', LISTS.cleaning);
    read('M-2', LISTS.retooling);
    answer();
    await turn();
    answer();
    await turn();
    read('M-3', LISTS.cleaning);
    read('M-1', LISTS.retooling);
    expect(requests).toEqual([['M-1 11'], ['M-2 12', 'M-3 11'], ['M-1 12']]);
  });

  it('replaces reasons by an empty list only when the list of the next refresh is empty too', async () => {
    const readAfter = async (seconds: number, list: readonly ClassificationReason[]) => {
      clock.advance(seconds);
      read('M-1', list);
      await turn();
    };
    read('M-1', LISTS.cleaning);
    answer();
    await turn();
    await readAfter(3600, []);
    await readAfter(60, []);
    await readAfter(3540, LISTS.cleaning);
    await readAfter(3600, []);
    expect(requests).toEqual([['M-1 11']]);
    await readAfter(3600, []);
    expect(requests).toEqual([['M-1 11'], ['M-1 undefined']]);
  });

  it('writes no record of a machine that is forgotten while it waits', async () => {
    read('M-1', LISTS.cleaning);
    read('M-2', LISTS.cleaning);
    read('M-3', LISTS.cleaning);
    records.forgetPublished('M-2');
    answer();
    await turn();
    expect(requests).toEqual([['M-1 11'], ['M-3 11']]);
  });

  it('writes a list that was refused when it is read again', async () => {
    read('M-1', LISTS.cleaning);
    answer(refusedOf('M-1'));
    await turn();
    expect(records.readAtMs('M-1')).toBeUndefined();
    read('M-1', LISTS.cleaning);
    expect(requests).toEqual([['M-1 11'], ['M-1 11']]);
  });
});

function refusedOf(key: string): Refused {
  const record = { topic: 'reasons', key, value: '', headers: {} };
  return new Map([[record, new RecordRefusedError('too-large', new Error('too large'))]]);
}
