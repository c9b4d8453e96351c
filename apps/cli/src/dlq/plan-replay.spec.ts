import { type MessageHeaders } from '#libs/contracts';
import { planReplay } from './plan-replay.js';
import { letter } from './testing/letter.js';

const order = {
  selection: {},
  again: false,
  inputTopics: new Set(['p1.mes.downtime-reasons.v1']),
};

describe('planReplay', () => {
  it('makes the message again of a letter, without what was said about its failure', () => {
    const key = Buffer.from([0xfd]);
    const original: MessageHeaders = [
      ['10', Buffer.from('one')],
      ['9', null],
      ['10', Buffer.from('two')],
      ['empty', Buffer.alloc(0)],
    ];
    const headers = { 'dlq-machine-ids': 'M-1', 'dlq-http-status': '422' };
    const one = letter({ key, value: Buffer.from([0xff]), original, headers });
    expect(planReplay([one], order)).toEqual({
      replays: [
        {
          letter: one,
          original: {
            topic: 'p1.mes.downtime-reasons.v1',
            key,
            value: Buffer.from([0xff]),
            headers: original,
            timestamp: '1763680000123',
          },
        },
      ],
      replayedBefore: 0,
      impossible: [],
    });
  });

  it.each([[undefined], ['0'], ['soon']])(
    'leaves the time to Kafka where the letter says %s',
    (time) => {
      const one = letter({ headers: { 'dlq-source-timestamp': time } });
      expect(planReplay([one], order).replays[0]?.original).not.toHaveProperty('timestamp');
    },
  );

  it('keeps what has no key or no value as it is', () => {
    const [replay] = planReplay([letter({ key: null, value: null })], order).replays;
    expect(replay?.original).toMatchObject({ key: null, value: null });
  });

  it('takes the selected letters alone, in their order', () => {
    const letters = [0, 1, 2, 3].map((offset) => letter({ offset, key: null, value: `${offset}` }));
    const { replays } = planReplay(letters, order);
    expect(replays.map((replay) => replay.letter.record.offset)).toEqual([0, 1, 2, 3]);
    const selection = { offset: 2 };
    expect(planReplay(letters, { ...order, selection }).replays).toHaveLength(1);
  });

  it('leaves alone what has been replayed, unless it is to be replayed again', () => {
    const letters = [letter({ replayedAt: 1_763_690_000 }), letter({ offset: 1 })];
    expect(planReplay(letters, order)).toMatchObject({
      replays: [{ letter: letters[1] }],
      replayedBefore: 1,
    });
    expect(planReplay(letters, { ...order, again: true })).toMatchObject({
      replays: [{ letter: letters[0] }, { letter: letters[1] }],
      replayedBefore: 0,
    });
  });

  it.each([
    ['its value was left out', { 'dlq-value-omitted': '2000000' }, /2000000 bytes.*offset 41/],
    ['it names no source', { 'dlq-source-topic': undefined }, /where it came from/],
    ['its source is no input', { 'dlq-source-topic': 'machine.states.v1' }, /machine\.states\.v1/],
  ])('says why it cannot put a letter back: %s', (_, headers, why) => {
    expect(planReplay([letter({ headers })], order)).toEqual({
      replays: [],
      replayedBefore: 0,
      impossible: [expect.objectContaining({ why: expect.stringMatching(why) as string })],
    });
  });
});
