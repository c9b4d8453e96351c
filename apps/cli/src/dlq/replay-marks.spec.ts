import type { OutboundRecord, StoredRecord } from '#libs/kafka';
import { markTombstone, replayMark, ReplayMarks } from './replay-marks.js';
import { deadLetter, TOPIC } from './testing/dead-letter.js';

const replay = {
  toTopic: 'p1.mes.downtime-reasons.v1',
  replayedAt: 1_763_690_000,
  replayedBy: 'ann@plant',
};

/** A record as Kafka gives it back. */
const stored = ({ key, value }: Pick<OutboundRecord, 'key' | 'value'>): StoredRecord => ({
  ...deadLetter().record,
  key: key === null ? null : Buffer.from(key),
  value: value === null ? null : Buffer.from(value),
});

const marksOf = (...records: Pick<OutboundRecord, 'key' | 'value'>[]): ReplayMarks => {
  const marks = new ReplayMarks();
  marks.accept(records.map(stored));
  return marks;
};

describe('ReplayMarks', () => {
  const { record } = deadLetter({ partition: 2, offset: 17 });

  it('knows when a dead letter was replayed, by a mark under the place of the dead letter', () => {
    const mark = replayMark('marks', record, replay);
    expect(mark).toMatchObject({ topic: 'marks', key: `${TOPIC}/2/17` });
    expect(marksOf(mark).replayedAt(record)).toBe(1_763_690_000);
    expect(marksOf(mark).replayedAt({ ...record, offset: 18 })).toBeUndefined();
  });

  it('goes by the latest mark, and by none after that has been taken back', () => {
    const first = replayMark('marks', record, replay);
    const second = replayMark('marks', record, { ...replay, replayedAt: 1_763_700_000 });
    expect(marksOf(first, second).replayedAt(record)).toBe(1_763_700_000);
    const taken = markTombstone('marks', `${TOPIC}/2/17`);
    expect(marksOf(first, taken).replayedAt(record)).toBeUndefined();
  });

  it('does not take another dead letter in the same place, in a topic made anew, for replayed', () => {
    const mark = replayMark('marks', record, replay);
    const another = { ...record, timestamp: '1763699999999' };
    expect(marksOf(mark).replayedAt(another)).toBeUndefined();
  });

  it('is not disturbed by what is no mark', () => {
    const key = `${TOPIC}/2/17`;
    for (const value of ['{', 'null', '{"replayedAt":"soon"}']) {
      expect(marksOf({ key, value }).replayedAt(record)).toBeUndefined();
    }
  });

  it('names the marks that have outlived their dead letters', () => {
    const offsets = [16, 17];
    const marks = marksOf(
      ...offsets.map((offset) => replayMark('marks', { ...record, offset }, replay)),
      replayMark('marks', { ...record, topic: 'another', offset: 1 }, replay),
    );
    const span = { topic: TOPIC, partition: 2, from: 17, until: 30 };
    expect(marks.outlived([{ ...span, partition: 1, from: 20 }, span])).toEqual([`${TOPIC}/2/16`]);
  });
});
