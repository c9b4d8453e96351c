import { PartitionLog, type RawMessage } from './committed-reader.js';

const ABORT = Buffer.from([0, 0, 0, 0]);
const COMMIT = Buffer.from([0, 0, 0, 1]);
const of = (offset: number, producerId: string, key: Buffer | null): RawMessage => ({
  offset: String(offset),
  timestamp: '0',
  key,
  value: null,
  batchContext: { producerId, inTransaction: producerId !== '' },
});
const record = (offset: number, producerId = ''): RawMessage => of(offset, producerId, null);
const marker = (offset: number, producerId: string, key: Buffer): RawMessage => {
  return { ...of(offset, producerId, key), isControlRecord: true };
};
const offsetsOf = (messages: readonly RawMessage[]): number[] =>
  messages.map(({ offset }) => Number(offset));

describe('the log of a partition', () => {
  let log: PartitionLog;

  beforeEach(() => {
    log = new PartitionLog();
  });

  it('has no records of overlapping aborted transactions', () => {
    const fetched = [
      ...[record(0, 'a'), record(1, 'b'), marker(2, 'a', ABORT), record(3, 'b'), record(4, 'a')],
      ...[marker(5, 'b', ABORT), marker(6, 'a', COMMIT), record(7)],
    ];
    expect(offsetsOf(log.decide(fetched))).toEqual([4, 7]);
    expect(log.position).toBe(8);
  });

  it('keeps its order while a record waits for its marker', () => {
    expect(log.decide([record(0, 'a'), record(1)])).toEqual([]);
    expect(log.position).toBe(0);
    expect(offsetsOf(log.decide([marker(2, 'a', COMMIT)]))).toEqual([0, 1]);
  });

  it('hands on once a record that is fetched again', () => {
    log.decide([record(0), record(1, 'a')]);
    expect(offsetsOf(log.decide([record(0), record(1, 'a'), marker(2, 'a', COMMIT)]))).toEqual([1]);
  });

  it('must be fetched again from a record whose marker was not shown', () => {
    log.decide([record(0), record(1, 'a')]);
    expect(log.skipTo(3)).toBe(false);
    expect(log.position).toBe(1);
    expect(offsetsOf(log.decide([record(1, 'a'), marker(2, 'a', COMMIT)]))).toEqual([1]);
  });

  it('goes on after offsets that readers do not see', () => {
    log.decide([record(0)]);
    expect(log.skipTo(4)).toBe(true);
    expect(log.position).toBe(4);
  });
});
