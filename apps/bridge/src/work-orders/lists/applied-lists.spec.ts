import { PartitionOwnership } from '#libs/messaging';
import { AppliedLists } from './applied-lists.js';

describe('AppliedLists', () => {
  const list = { workingOrders: ['4711', '4712'], appliedAt: 100 };
  let ownership: PartitionOwnership;
  let lists: AppliedLists;

  beforeEach(() => {
    ownership = new PartitionOwnership();
    lists = new AppliedLists();
    lists.apply('M-1', list, ownership);
  });

  it('knows since when a list stands, while the partition is the same', () => {
    expect(lists.standsSince('M-1', ['4711', '4712'], ownership)).toBe(100);
    expect(lists.standsSince('M-1', ['4711', '4712'], new PartitionOwnership())).toBeUndefined();
    expect(lists.standsSince('M-2', ['4711', '4712'], ownership)).toBeUndefined();
  });

  it.each([[[]], [['4711']], [['4712', '4711']], [['4711', '4712', '4713']]])(
    'tells another list from it: %j',
    (...[other]) => {
      expect(lists.standsSince('M-1', other, ownership)).toBeUndefined();
    },
  );

  it('does not know what stands once another call has begun, until that went well', () => {
    lists.doubt('M-1');
    expect(lists.standsSince('M-1', ['4711', '4712'], ownership)).toBeUndefined();
    expect(lists.of('M-1')).toMatchObject(list);
    lists.apply('M-1', { ...list, appliedAt: 200 }, ownership);
    expect(lists.standsSince('M-1', ['4711', '4712'], ownership)).toBe(200);
  });
});
