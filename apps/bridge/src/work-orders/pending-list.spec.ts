import { type CommandResult, Forbidden } from '../command-delivery/index.js';
import { ListWaiter } from './list-waiter.js';
import { combine, type PendingList, settle, supersede } from './pending-list.js';

function pending(name: string, more: Partial<PendingList> = {}): PendingList {
  const waiter = new ListWaiter(new AbortController().signal, { calls: 2 });
  return {
    workingOrders: () => [name],
    cumulative: false,
    forbidden: new Forbidden(),
    waiters: [waiter],
    ...more,
  };
}

const results = ({ waiters }: PendingList): Promise<CommandResult[]> =>
  Promise.all(waiters.map(({ result }) => result));

describe('a list that waits while another one comes', () => {
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

  it('is applied with the later one when both are drawn from the ledger', async () => {
    const cumulative = { cumulative: true };
    const { keep, superseded } = combine(pending('a', cumulative), pending('b', cumulative));
    expect(superseded).toBeUndefined();
    expect(keep.workingOrders()).toEqual(['b']);
    settle(keep, (attempts) => ({ kind: 'applied', machineId: 'M-1', attempts, appliedAt: 7 }));
    const applied = { kind: 'applied', attempts: 2 };
    expect(await results(keep)).toMatchObject([applied, applied]);
  });

  it('gives way to a list of another source, though drawn from the ledger', () => {
    const [waiting, next] = [pending('ledger', { cumulative: true }), pending('list')];
    expect(combine(waiting, next)).toEqual({ keep: next, superseded: waiting });
  });

  it('tells its waiters that it was superseded, and after how many calls', async () => {
    const list = pending('old');
    supersede(list, 'M-1');
    expect(await results(list)).toMatchObject([
      { kind: 'superseded', machineId: 'M-1', attempts: 2 },
    ]);
  });
});
