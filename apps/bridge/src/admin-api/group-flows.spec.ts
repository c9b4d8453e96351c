import type { FlowShare } from '#libs/contracts';
import type { ProcessShares } from '../flow-control/index.js';
import { groupFlow } from './group-flows.js';

const RUNNING: FlowShare = {
  ...{ state: 'running', why: null, since: null, waiting: 0, oldestWaitingSeconds: 0 },
  ...{ lastError: null, partitions: {} },
};
const of = (process: string, share: Partial<FlowShare>): ProcessShares => ({
  process,
  flows: { 'work-orders': { ...RUNNING, ...share } },
});
const PAUSE = { paused: true, reason: 'an audit', by: 'Ada', since: 50 };

describe('a flow over the group', () => {
  it('adds up what waits, and shows the oldest message and the latest error of all', () => {
    const [early, late] = [
      { why: 'HTTP 500', at: 10 },
      { why: 'HTTP 503', at: 20 },
    ];
    const shares = [
      of('a', { waiting: 2, oldestWaitingSeconds: 9, lastError: late }),
      of('b', { waiting: 3, oldestWaitingSeconds: 4, lastError: early }),
    ];
    expect(groupFlow('work-orders', undefined, shares, 7)).toMatchObject({
      ...{ state: 'running', why: null, since: null, by: null, lag: 7 },
      ...{ waiting: 5, oldestWaitingSeconds: 9, lastError: late },
      processes: [{ process: 'a' }, { process: 'b' }],
    });
  });

  it('is paused if one process has paused it, with the reason of the first', () => {
    const shares = [
      of('a', {}),
      of('b', { state: 'paused', why: 'HTTP 503', since: 30 }),
      of('c', { state: 'paused', why: 'HTTP 500', since: 20 }),
    ];
    expect(groupFlow('work-orders', undefined, shares, 0)).toMatchObject({
      ...{ state: 'paused', why: 'HTTP 500', since: 20, by: null },
    });
  });

  it('is paused by hand whatever the processes have reported', () => {
    const shares = [of('a', {}), of('b', { state: 'paused', why: 'HTTP 503', since: 30 })];
    expect(groupFlow('work-orders', PAUSE, shares, 0)).toMatchObject({
      ...{ state: 'pausedByHand', why: 'an audit', since: 50, by: 'Ada' },
    });
  });

  it('does not exist if no process runs it, unless it is paused by hand', () => {
    const shares = [of('a', {})];
    expect(groupFlow('machine-states', undefined, shares, null)).toBeUndefined();
    expect(groupFlow('machine-states', PAUSE, shares, null)).toMatchObject({
      ...{ name: 'machine-states', state: 'pausedByHand', processes: [], lag: null },
    });
  });
});
