import { type IdempotentProducer, type OutboundRecord, RecordRefusedError } from '#libs/kafka';
import { planReplay } from './plan-replay.js';
import { Replayer } from './replayer.js';
import { letter } from './testing/letter.js';

const inputTopics = new Set(['p1.mes.downtime-reasons.v1']);
const { replays } = planReplay(
  [letter({ offset: 0, value: 'a' }), letter({ offset: 1, value: 'b' })],
  { selection: {}, again: false, inputTopics },
);

describe('Replayer', () => {
  const sent: string[][] = [];
  const replayerWith = (sendAll: IdempotentProducer['sendAll']): Replayer =>
    new Replayer({ sendAll }, 'marks', () => 1_763_690_000);

  const take = (
    records: readonly OutboundRecord[],
  ): Promise<ReadonlyMap<OutboundRecord, RecordRefusedError>> => {
    sent.push(records.map(({ topic, key }) => `${topic} ${String(key)}`));
    return Promise.resolve(new Map());
  };

  beforeEach(() => {
    sent.length = 0;
  });

  it('marks letters once their messages have been acknowledged, and not before', async () => {
    let acknowledge: () => void = () => undefined;
    const acknowledged = new Promise<void>((resolve) => {
      acknowledge = resolve;
    });
    const replayer = replayerWith(async (records) => {
      const refused = await take(records);
      await acknowledged;
      return refused;
    });
    const replayed = replayer.replay(replays);
    await new Promise((resolve) => setImmediate(resolve));
    expect(sent).toEqual([replays.map(({ original }) => `${original.topic} M-1`)]);
    acknowledge();
    expect(await replayed).toEqual([]);
    expect(sent.slice(1)).toEqual([
      ['marks p1.mes.downtime-reasons.v1.dlq/0/0', 'marks p1.mes.downtime-reasons.v1.dlq/0/1'],
    ]);
  });

  it('yields what Kafka will never take, and leaves it unmarked', async () => {
    const refusal = new RecordRefusedError('too-large', new Error('1 MB at most'));
    const replayer = replayerWith(async (records) => {
      await take(records);
      const refused = records.filter(({ value }) => String(value) === 'a');
      return new Map(refused.map((record) => [record, refusal]));
    });
    expect(await replayer.replay(replays)).toEqual([
      { letter: replays[0]?.letter, why: 'the record is too-large: 1 MB at most' },
    ]);
    expect(sent[1]).toEqual(['marks p1.mes.downtime-reasons.v1.dlq/0/1']);
  });

  it('fails when it cannot know what has become of a message', async () => {
    const replayer = replayerWith(() => Promise.reject(new Error('the producer is closed')));
    await expect(replayer.replay(replays)).rejects.toThrow('the producer is closed');
  });

  it('takes marks back', async () => {
    const records: OutboundRecord[] = [];
    const replayer = replayerWith((all) => {
      records.push(...all);
      return Promise.resolve(new Map());
    });
    await replayer.forget(['dlq/0/0']);
    expect(records).toEqual([{ topic: 'marks', key: 'dlq/0/0', value: null, headers: {} }]);
  });
});
