import { type CommandResult } from '../command-delivery/index.js';
import { combine, type PendingList, settle, supersede } from './pending-list.js';

const told: [string, CommandResult][] = [];

function pending(name: string, more: Partial<PendingList> = {}): PendingList {
  const waiter = {
    signal: new AbortController().signal,
    progress: { calls: 2 },
    settle: (result: CommandResult) => told.push([name, result]),
  };
  return { workingOrders: () => [name], cumulative: false, waiters: [waiter], ...more };
}

describe('a list that waits while another one comes', () => {
  beforeEach(() => {
    told.length = 0;
  });

  it('gives way to the newer one', () => {
    const [waiting, next] = [pending('old'), pending('new')];
    expect(combine(waiting, next)).toEqual({ keep: next, superseded: waiting });
  });

  it('stays when the other one was issued before it', () => {
    const [waiting, next] = [pending('new', { issuedAt: 20 }), pending('old', { issuedAt: 10 })];
    expect(combine(waiting, next)).toEqual({ keep: waiting, superseded: next });
  });

  it.each([
    [{ issuedAt: 10 }, { issuedAt: 10 }],
    [{ issuedAt: 20 }, {}],
    [{}, { issuedAt: 10 }],
  ])('goes by the order of arrival where times do not tell: %j, %j', (first, second) => {
    const [waiting, next] = [pending('first', first), pending('second', second)];
    expect(combine(waiting, next).keep).toBe(next);
  });

  it('is applied with the later one when both are drawn from the ledger', () => {
    const cumulative = { cumulative: true };
    const { keep, superseded } = combine(pending('a', cumulative), pending('b', cumulative));
    expect(superseded).toBeUndefined();
    expect(keep.workingOrders()).toEqual(['b']);
    settle(keep, (attempts) => ({ kind: 'applied', machineId: 'M-1', attempts, appliedAt: 7 }));
    expect(told.map(([name, { kind, attempts }]) => [name, kind, attempts])).toEqual([
      ['a', 'applied', 2],
      ['b', 'applied', 2],
    ]);
  });

  it('gives way to a list of another source, though drawn from the ledger', () => {
    const [waiting, next] = [pending('ledger', { cumulative: true }), pending('list')];
    expect(combine(waiting, next)).toEqual({ keep: next, superseded: waiting });
  });

  it('tells its waiters that it was superseded, and after how many calls', () => {
    supersede(pending('old'), 'M-1');
    expect(told).toMatchObject([['old', { kind: 'superseded', machineId: 'M-1', attempts: 2 }]]);
  });
});
