import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ManualClock } from '#libs/clock';
import type { ClassificationReason } from '#libs/cloud-client';
import type { ClassificationReasonsRecord } from '#libs/contracts';
import { type IdempotentProducer, type OutboundRecord, RecordRefusedError } from '#libs/kafka';
import { bridgeSettings } from '../platform/testing/bridge-settings.js';
import type { ReasonLists } from './reason-lists.js';
import { ReasonRecords } from './reason-records.js';

type Refused = Awaited<ReturnType<IdempotentProducer['sendAll']>>;

const LISTS = {
  cleaning: [{ name: 'Cleaning', code: '11' }],
  retooling: [{ name: 'Retooling', code: '12' }],
};

describe('ReasonRecords', () => {
  let records: ReasonRecords;
  let read: (machineId: string, reasons: readonly ClassificationReason[]) => void;
  /** What each request holds: machines and the code of their reason. */
  let requests: string[][];
  let answer: (refused?: Refused) => void;
  let clock: ManualClock;

  const turn = (): Promise<void> => new Promise(setImmediate);
  const lineOf = ({ key, value }: OutboundRecord): string => {
    const { reasons } = JSON.parse(String(value)) as ClassificationReasonsRecord;
    return `${String(key)} ${reasons[0]?.code}`;
  };

  beforeEach(() => {
    jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
    requests = [];
    const sendAll = (batch: readonly OutboundRecord[]): Promise<Refused> => {
      requests.push(batch.map(lineOf));
      return new Promise((resolve) => {
        answer = (refusedKeys = new Map()) => {
          resolve(refusedKeys);
        };
      });
    };
    const settings = bridgeSettings();
    const lists = { onRead: (listener: typeof read) => (read = listener) };
    const producer = { sendAll } as unknown as IdempotentProducer;
    clock = new ManualClock(1_763_680_000_000);
    records = new ReasonRecords(settings, clock, producer, lists as unknown as ReasonLists);
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('writes what is read during a request with the next, of each machine the latest', async () => {
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

  it('writes no empty list in place of reasons before the next list, when that is due, is empty too', async () => {
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

  it('writes nothing of a machine that is forgotten while it waits', async () => {
    read('M-1', LISTS.cleaning);
    read('M-2', LISTS.cleaning);
    read('M-3', LISTS.cleaning);
    records.forget('M-2');
    answer();
    await turn();
    expect(requests).toEqual([['M-1 11'], ['M-3 11']]);
  });

  it('writes a list again that was refused, once it is read again', async () => {
    read('M-1', LISTS.cleaning);
    answer(refusedOf('M-1'));
    await turn();
    expect(records.readAt('M-1')).toBeUndefined();
    read('M-1', LISTS.cleaning);
    expect(requests).toEqual([['M-1 11'], ['M-1 11']]);
  });
});

function refusedOf(key: string): Refused {
  const record = { topic: 'reasons', key, value: '', headers: {} };
  return new Map([[record, new RecordRefusedError('too-large', new Error('too large'))]]);
}
