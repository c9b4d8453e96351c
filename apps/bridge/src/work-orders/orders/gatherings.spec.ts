import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { type InboundMessage, PartitionOwnership } from '#libs/messaging';
import { type GatheredOrders } from './gathered-orders.js';
import { Gatherings } from './gatherings.js';
import { type RelayEntry } from './order-entries.js';
import { type RelayReport } from './relay-reports.js';

const saidOf = (...machineIds: string[]): GatheredOrders => {
  return { machineIds, results: [], unmapped: [], standings: [] };
};

describe('messages whose orders are at home elsewhere', () => {
  let ownership: PartitionOwnership;
  let abandoned: number[];
  let gatherings: Gatherings;

  beforeEach(() => {
    jest.useFakeTimers();
    [ownership, abandoned, gatherings] = [new PartitionOwnership(), [], new Gatherings()];
  });

  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  /** With orders at home in partitions 4 and 5, too. */
  const relayOf = (offset: number): RelayEntry => {
    const message = {
      ...{ topic: 'orders', partition: 3, offset, ownership },
      abandon: () => abandoned.push(offset),
    } as unknown as InboundMessage;
    const source = { topic: 'orders', partition: 3, offset, messageId: null };
    return {
      ...{ kind: 'relay', message, source, answered: { message, messageId: null } },
      ...{ gathering: `g-${offset}`, orders: [], unknownMachines: new Map() },
      position: { partition: 3, offset, recordedAt: 0 },
      records: [4, 5].map((partition) => {
        return { topic: 'relayed', partition, key: null, value: null, headers: {} };
      }),
    };
  };

  const reportOf = (offset: number, part: number, machineId: string): RelayReport => ({
    of: { partition: 3, gathering: `g-${offset}`, part },
    said: saidOf(machineId),
  });

  it('are there when all parts have been reported, in the order of the parts', () => {
    gatherings.begin(relayOf(7), saidOf('M-1'));
    expect(gatherings.add(reportOf(7, 2, 'M-3'))).toBeUndefined();
    expect(gatherings.add(reportOf(7, 2, 'M-3'))).toBeUndefined();
    expect(gatherings.add(reportOf(7, 1, 'M-2'))?.said).toEqual(saidOf('M-1', 'M-2', 'M-3'));
    expect(gatherings.add(reportOf(7, 1, 'M-2'))).toBeUndefined();
  });

  it('are not there by what is reported of another attempt', () => {
    gatherings.begin(relayOf(7), saidOf());
    expect(gatherings.add(reportOf(6, 1, 'M-2'))).toBeUndefined();
    expect(gatherings.add(reportOf(6, 2, 'M-3'))).toBeUndefined();
  });

  it('are given up when their partition is lost, before or after', () => {
    gatherings.begin(relayOf(7), saidOf());
    ownership.lose(new Error('another process has it'));
    gatherings.begin(relayOf(8), saidOf());
    expect(abandoned).toEqual([7, 8]);
    gatherings.add(reportOf(7, 1, 'M-2'));
    expect(gatherings.add(reportOf(7, 2, 'M-3'))).toBeUndefined();
  });

  it('are told of in the log, once a minute for all, while their orders are waited for', () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    gatherings.begin(relayOf(7), saidOf());
    gatherings.begin(relayOf(8), saidOf());
    gatherings.add(reportOf(7, 1, 'M-2'));
    jest.advanceTimersByTime(125_000);
    const oldest = { partition: 3, offset: 7, homes: [5] };
    const msg = 'orders wait for the owners of their partitions';
    expect(warn.mock.calls).toEqual(Array(2).fill([{ msg, waiting: 2, oldest }]));
    gatherings.add(reportOf(7, 2, 'M-2'));
    ownership.lose(new Error('another process has it'));
    jest.advanceTimersByTime(600_000);
    expect(warn).toHaveBeenCalledTimes(2);
  });
});
