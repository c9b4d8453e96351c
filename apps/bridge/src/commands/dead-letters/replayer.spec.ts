import { type OutboundRecord, RecordRefusedError } from '#libs/messaging';
import { planReplay } from './plan-replay.js';
import { Replayer } from './replayer.js';
import { letter } from './testing/letter.js';

const inputTopics = new Set(['p1.mes.downtime-reasons.v1']);
const { replays } = planReplay(
  [letter({ offset: 0, value: 'a' }), letter({ offset: 1, value: 'b' })],
  { selection: {}, again: false, inputTopics },
);

describe('Replayer', () => {
  const sent: string[] = [];
  const replayerWith = (send: (record: OutboundRecord) => Promise<void>): Replayer =>
    new Replayer({ send }, 'marks', () => 1_763_690_000);

  const take = ({ topic, key }: OutboundRecord): Promise<void> => {
    sent.push(`${topic} ${String(key)}`);
    return Promise.resolve();
  };

  beforeEach(() => {
    sent.length = 0;
  });

  it('marks letters once their messages have been acknowledged, and not before', async () => {
    let acknowledge: () => void = () => undefined;
    const acknowledged = new Promise<void>((resolve) => {
      acknowledge = resolve;
    });
    const replayer = replayerWith((record) => take(record).then(() => acknowledged));
    const replayed = replayer.replay(replays);
    await new Promise((resolve) => setImmediate(resolve));
    expect(sent).toEqual(replays.map(({ original }) => `${original.topic} M-1`));
    acknowledge();
    expect(await replayed).toEqual([]);
    expect(sent.slice(2)).toEqual([
      'marks p1.mes.downtime-reasons.v1.dlq/0/0',
      'marks p1.mes.downtime-reasons.v1.dlq/0/1',
    ]);
  });

  it('yields what Kafka will never take, and leaves it unmarked', async () => {
    const replayer = replayerWith((record) => {
      if (String(record.value) !== 'a') return take(record);
      return Promise.reject(new RecordRefusedError('too-large', new Error('1 MB at most')));
    });
    expect(await replayer.replay(replays)).toEqual([
      { letter: replays[0]?.letter, why: 'the record is too-large: 1 MB at most' },
    ]);
    expect(sent).toEqual([
      'p1.mes.downtime-reasons.v1 M-1',
      'marks p1.mes.downtime-reasons.v1.dlq/0/1',
    ]);
  });

  it('fails when it cannot know what has become of a message', async () => {
    const replayer = replayerWith(() => Promise.reject(new Error('the outbox is closed')));
    await expect(replayer.replay(replays)).rejects.toThrow('the outbox is closed');
  });

  it('takes marks back', async () => {
    const records: OutboundRecord[] = [];
    const replayer = replayerWith((record) => Promise.resolve(void records.push(record)));
    await replayer.forget(['dlq/0/0']);
    expect(records).toEqual([{ topic: 'marks', key: 'dlq/0/0', value: null, headers: {} }]);
  });
});
