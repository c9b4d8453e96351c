import { PartitionOwnership } from '#libs/messaging';
import { AppliedLists, type Custody } from './applied-lists.js';

describe('AppliedLists', () => {
  const list = { workingOrders: ['4711', '4712'], appliedAt: 100 };
  let custody: Custody;
  let lists: AppliedLists;

  beforeEach(() => {
    const soleSetterUntil = new AbortController().signal;
    custody = { ownership: new PartitionOwnership(), soleSetterUntil };
    lists = new AppliedLists();
    lists.apply('M-1', list.workingOrders, list.appliedAt, custody);
  });

  it('knows since when a list stands, while the partitions it may come from are the same', () => {
    expect(lists.standsSince('M-1', ['4711', '4712'], custody)).toBe(100);
    expect(lists.standsSince('M-2', ['4711', '4712'], custody)).toBeUndefined();
    const others: (Custody | undefined)[] = [
      { ...custody, ownership: new PartitionOwnership() },
      { ...custody, soleSetterUntil: new AbortController().signal },
      undefined,
    ];
    for (const other of others) {
      expect(lists.standsSince('M-1', ['4711', '4712'], other)).toBeUndefined();
    }
  });

  it('does not know what stands where another process could set it all the time', () => {
    lists.apply('M-1', list.workingOrders, list.appliedAt, undefined);
    expect(lists.standsSince('M-1', ['4711', '4712'], custody)).toBeUndefined();
    expect(lists.standsSince('M-1', ['4711', '4712'], undefined)).toBeUndefined();
  });

  it.each([[[]], [['4711']], [['4712', '4711']], [['4711', '4712', '4713']]])(
    'tells another list from it: %j',
    (...[other]) => {
      expect(lists.standsSince('M-1', other, custody)).toBeUndefined();
    },
  );

  it('does not know what stands once another call has begun, until that went well', () => {
    lists.doubt('M-1');
    expect(lists.standsSince('M-1', ['4711', '4712'], custody)).toBeUndefined();
    expect(lists.of('M-1')).toEqual(list);
    lists.apply('M-1', list.workingOrders, 200, custody);
    expect(lists.standsSince('M-1', ['4711', '4712'], custody)).toBe(200);
  });
});
