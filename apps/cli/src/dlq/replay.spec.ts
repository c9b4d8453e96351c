import type { MessageHeaders } from '#libs/contracts';
import {
  type IdempotentProducer,
  type OutboundRecord,
  RecordRefusedError,
  type StoredRecord,
} from '#libs/kafka';
import { planReplay, writeBack } from './replay.js';
import { deadLetter, TOPIC } from './testing/dead-letter.js';
import { markTombstone, replayMark, ReplayMarks } from './replay-marks.js';

const order = {
  selection: {},
  again: false,
  inputTopics: new Set(['p1.mes.downtime-reasons.v1']),
  maxReplays: 5,
  by: 'ann@plant',
};

describe('planReplay', () => {
  it('restores the message of a dead letter, without the headers of its rejection', () => {
    const key = Buffer.from([0xfd]);
    const original: MessageHeaders = [
      ['10', Buffer.from('one')],
      ['9', null],
      ['10', Buffer.from('two')],
      ['empty', Buffer.alloc(0)],
    ];
    const headers = { 'dlq-machine-ids': 'M-1', 'dlq-http-status': '422' };
    const one = deadLetter({ key, value: Buffer.from([0xff]), original, headers });
    expect(planReplay([one], order)).toEqual({
      replays: [
        {
          deadLetter: one,
          original: {
            topic: 'p1.mes.downtime-reasons.v1',
            key,
            value: Buffer.from([0xff]),
            headers: [
              ...original,
              ['dlq-replay-count', Buffer.from('1')],
              ['dlq-replayed-by', Buffer.from('ann@plant')],
            ],
            timestamp: '1763680000123',
          },
        },
      ],
      replayedBefore: 0,
      impossible: [],
    });
  });

  it.each([['0'], ['-1']])('keeps the time of the record where it is %s', (timestamp) => {
    const one = deadLetter({ headers: { 'dlq-source-timestamp': timestamp } });
    expect(planReplay([one], order).replays[0]?.original).toMatchObject({ timestamp });
  });

  it.each([[undefined], ['soon']])(
    'leaves the time to Kafka where the header of the dead letter is %s',
    (time) => {
      const one = deadLetter({ headers: { 'dlq-source-timestamp': time } });
      expect(planReplay([one], order).replays[0]?.original).not.toHaveProperty('timestamp');
    },
  );

  it('keeps a missing key or value', () => {
    const [replay] = planReplay([deadLetter({ key: null, value: null })], order).replays;
    expect(replay?.original).toMatchObject({ key: null, value: null });
  });

  it('plans only the selected dead letters, in their order', () => {
    const deadLetters = [0, 1, 2, 3].map((offset) =>
      deadLetter({ offset, key: null, value: `${offset}` }),
    );
    const { replays } = planReplay(deadLetters, order);
    expect(replays.map((replay) => replay.deadLetter.record.offset)).toEqual([0, 1, 2, 3]);
    const selection = { offset: 2 };
    expect(planReplay(deadLetters, { ...order, selection }).replays).toHaveLength(1);
  });

  it('skips replayed dead letters, unless they are to be replayed again', () => {
    const deadLetters = [deadLetter({ replayedAt: 1_763_690_000 }), deadLetter({ offset: 1 })];
    expect(planReplay(deadLetters, order)).toMatchObject({
      replays: [{ deadLetter: deadLetters[1] }],
      replayedBefore: 1,
    });
    expect(planReplay(deadLetters, { ...order, again: true })).toMatchObject({
      replays: [{ deadLetter: deadLetters[0] }, { deadLetter: deadLetters[1] }],
      replayedBefore: 0,
    });
  });

  it('increments the count of replays in the message', () => {
    const original: MessageHeaders = [
      ['dlq-replayed-by', Buffer.from('ben@plant')],
      ['dlq-replay-count', Buffer.from('4')],
    ];
    expect(planReplay([deadLetter({ original })], order).replays[0]?.original.headers).toEqual([
      ['dlq-replay-count', Buffer.from('5')],
      ['dlq-replayed-by', Buffer.from('ann@plant')],
    ]);
  });

  it('refuses a message after the maximum number of replays, unless there is no limit', () => {
    const original: MessageHeaders = [['dlq-replay-count', Buffer.from('5')]];
    const one = deadLetter({ original });
    expect(planReplay([one], order)).toEqual({
      replays: [],
      replayedBefore: 0,
      impossible: [{ deadLetter: one, why: expect.stringContaining('from 5 replays') as string }],
    });
    expect(planReplay([one], { ...order, maxReplays: undefined }).replays).toHaveLength(1);
  });

  it.each([
    ['its message was gone', { 'dlq-value-omitted': '0' }, /no longer in its topic/],
    ['its value was left out', { 'dlq-value-omitted': '2000000' }, /2000000 bytes.*offset 41/],
    ['it names no source', { 'dlq-source-topic': undefined }, /where it came from/],
    ['its source is no input', { 'dlq-source-topic': 'machine.states.v1' }, /machine\.states\.v1/],
  ])('says why it cannot replay a dead letter: %s', (_, headers, why) => {
    expect(planReplay([deadLetter({ headers })], order)).toEqual({
      replays: [],
      replayedBefore: 0,
      impossible: [expect.objectContaining({ why: expect.stringMatching(why) as string })],
    });
  });
});

describe('writeBack', () => {
  const { replays } = planReplay(
    [deadLetter({ offset: 0, value: 'a' }), deadLetter({ offset: 1, value: 'b' })],
    order,
  );
  const by = { marksTopic: 'marks', replayedBy: 'ann@plant' };

  it('marks dead letters only once their messages have been acknowledged', async () => {
    const sent: string[][] = [];
    let acknowledge: (refused: ReadonlyMap<OutboundRecord, RecordRefusedError>) => void;
    const sendRecords: IdempotentProducer['sendRecords'] = (records) => {
      sent.push(records.map(({ topic, key }) => `${topic} ${String(key)}`));
      return new Promise((resolve) => (acknowledge = resolve));
    };
    const replayed = writeBack({ sendRecords }, replays, by);
    await new Promise((resolve) => setImmediate(resolve));
    expect(sent).toEqual([replays.map(({ original }) => `${original.topic} M-1`)]);
    // a message that Kafka refuses is not marked
    acknowledge!(
      new Map([[replays[0]!.original, new RecordRefusedError('too-large', new Error('1 MB'))]]),
    );
    await new Promise((resolve) => setImmediate(resolve));
    expect(sent.slice(1)).toEqual([['marks p1.mes.downtime-reasons.v1.dlq/0/1']]);
    acknowledge!(new Map());
    expect(await replayed).toEqual([
      { deadLetter: replays[0]?.deadLetter, why: 'the record is too-large: 1 MB' },
    ]);
  });
});

const replay = {
  toTopic: 'p1.mes.downtime-reasons.v1',
  replayedAt: 1_763_690_000,
  replayedBy: 'ann@plant',
};

/** A written record as Kafka returns it. */
const stored = ({ key, value }: Pick<OutboundRecord, 'key' | 'value'>): StoredRecord => ({
  ...deadLetter().record,
  key: key === null ? null : Buffer.from(key),
  value: value === null ? null : Buffer.from(value),
});

const marksOf = (...records: Pick<OutboundRecord, 'key' | 'value'>[]): ReplayMarks => {
  const marks = new ReplayMarks();
  marks.applyMarks(records.map(stored));
  return marks;
};

describe('ReplayMarks', () => {
  const { record } = deadLetter({ partition: 2, offset: 17 });

  it('have the time of a replay under the position of the dead letter', () => {
    const mark = replayMark('marks', record, replay);
    expect(mark).toMatchObject({ topic: 'marks', key: `${TOPIC}/2/17` });
    expect(marksOf(mark).replayedAt(record)).toBe(1_763_690_000);
    expect(marksOf(mark).replayedAt({ ...record, offset: 18 })).toBeUndefined();
  });

  it('apply the latest mark, and none after a tombstone', () => {
    const first = replayMark('marks', record, replay);
    const second = replayMark('marks', record, { ...replay, replayedAt: 1_763_700_000 });
    expect(marksOf(first, second).replayedAt(record)).toBe(1_763_700_000);
    const taken = markTombstone('marks', `${TOPIC}/2/17`);
    expect(marksOf(first, taken).replayedAt(record)).toBeUndefined();
  });

  it('do not apply to another dead letter at the same position, in a topic created again', () => {
    const mark = replayMark('marks', record, replay);
    const another = { ...record, timestamp: '1763699999999' };
    expect(marksOf(mark).replayedAt(another)).toBeUndefined();
  });

  it('ignore records that are not marks', () => {
    const key = `${TOPIC}/2/17`;
    for (const value of ['{', 'null', '{"replayedAt":"soon"}']) {
      expect(marksOf({ key, value }).replayedAt(record)).toBeUndefined();
    }
  });

  it('name the marks whose dead letters have been deleted', () => {
    const offsets = [16, 17];
    const marks = marksOf(
      ...offsets.map((offset) => replayMark('marks', { ...record, offset }, replay)),
      replayMark('marks', { ...record, topic: 'another', offset: 1 }, replay),
    );
    const span = { topic: TOPIC, partition: 2, from: 17, until: 30 };
    expect(marks.outlivedKeys([{ ...span, partition: 1, from: 20 }, span])).toEqual([
      `${TOPIC}/2/16`,
    ]);
  });
});
