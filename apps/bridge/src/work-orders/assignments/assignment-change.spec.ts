import {
  type AssignmentChange,
  changeRecords,
  hasOwnKey,
  parseAssignmentChanges,
} from './assignment-change.js';

const changeOf = (machineId: string, offset = 7, entry = '4711'): AssignmentChange => ({
  machineId,
  orders: [{ orderId: '4711', operations: [{ entry, operationId: '0010' }] }],
  source: { topic: 'orders', partition: 0, offset, messageId: null },
});

/** Machines with a 9 lie in the other partition. */
const partitionOf = (machineId: string): number => (machineId.includes('9') ? 1 : 0);

const recordsOf = (changes: readonly AssignmentChange[]) =>
  changeRecords('a.', changes, partitionOf).map(({ topic, partition, key, value }) => ({
    ...{ topic, partition, key: Buffer.from(String(key)) },
    changes: parseAssignmentChanges(Buffer.from(String(value))) ?? [],
  }));

describe('changes of assignments as they are written', () => {
  it('share a record where they lie in the same partition, in their order', () => {
    const [one, other, third] = [changeOf('M-1'), changeOf('M-9'), changeOf('M-1', 8)];
    const records = recordsOf([one, other, third]);
    expect(records.map(({ partition, changes }) => ({ partition, changes }))).toEqual([
      { partition: 0, changes: [one, third] },
      { partition: 1, changes: [other] },
    ]);
    expect(new Set(records.map(({ topic }) => topic))).toEqual(
      new Set(['a.machine-bridge.assignment-changes.v1']),
    );
  });

  it('have a key of their own each time', () => {
    const change = changeOf('M-1');
    const keys = [...recordsOf([change]), ...recordsOf([change])].map(({ key }) => key);
    expect(keys[0]).not.toEqual(keys[1]);
    expect(keys.every((key) => hasOwnKey(key, change))).toBe(true);
    expect(hasOwnKey(Buffer.from('M-1'), change)).toBe(false);
  });

  it('take several records where they are many or long', () => {
    const many = Array.from({ length: 70 }, (_, offset) => changeOf('M-1', offset));
    const records = recordsOf(many);
    expect(records.map(({ changes }) => changes.length)).toEqual([32, 32, 6]);
    expect(records.flatMap(({ changes }) => changes)).toEqual(many);
    const long = [1, 2, 3].map((offset) => changeOf('M-1', offset, 'x'.repeat(15_000)));
    expect(recordsOf(long).map(({ changes }) => changes.length)).toEqual([2, 1]);
  });

  it('are none where there is nothing to write', () => {
    expect(recordsOf([])).toEqual([]);
  });
});

describe('changes of assignments as they are read', () => {
  const parse = (json: unknown) => parseAssignmentChanges(Buffer.from(JSON.stringify(json)));

  it('may be by themselves, as earlier versions have written them', () => {
    expect(parse(changeOf('M-1'))).toEqual([changeOf('M-1')]);
  });

  it.each([
    ['nothing', null],
    ['a text', 'M-1'],
    ['changes that are no list', { changes: 'M-1' }],
    ['no changes', { changes: [] }],
    ['something else among them', { changes: [changeOf('M-1'), { machineId: 'M-1' }] }],
    ['no source', { changes: [{ machineId: 'M-1', orders: [] }] }],
  ])('are none the bridge has written: %s', (_, json) => {
    expect(parse(json)).toBeUndefined();
  });

  it('are none where the text is no JSON', () => {
    expect(parseAssignmentChanges(Buffer.from('{'))).toBeUndefined();
  });
});
