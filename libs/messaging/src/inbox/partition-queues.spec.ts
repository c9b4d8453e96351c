import { Logger } from '@nestjs/common';
import { type InboundMessage } from './inbound-message.js';
import { PartitionQueues } from './partition-queues.js';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function messagesUpTo(count: number, from = 0) {
  const source = { topic: 'a', partition: 0, timestamp: '0', key: null, value: null, headers: {} };
  return Array.from({ length: count }, (_, index) => ({ ...source, offset: from + index }));
}

const from = (topic: string, partition: number, highWatermark = 0) => ({
  topic,
  partition,
  highWatermark,
});

describe('PartitionQueues', () => {
  let resumed: string[];
  let underWay: { message: InboundMessage; end: () => void }[];
  let queues: PartitionQueues;

  beforeEach(() => {
    resumed = [];
    underWay = [];
    queues = new PartitionQueues(
      (message) =>
        new Promise((resolve) => {
          underWay.push({ message, end: resolve });
        }),
      (topic, partition) => resumed.push(`${topic}/${partition}`),
    );
    queues.reassign(
      new Map([
        ['a', [0, 1]],
        ['b', [0, 3]],
      ]),
    );
  });

  async function endAll(): Promise<void> {
    await nextTurn();
    while (underWay.length > 0) {
      for (const { end } of underWay.splice(0)) end();
      await nextTurn();
    }
  }

  it('hands out an offset once, when it has moved', async () => {
    queues.push(from('a', 0), messagesUpTo(2));
    queues.push(from('b', 3), messagesUpTo(1, 10));
    expect(queues.takeCommittable()).toEqual([]);
    await endAll();
    expect(queues.takeCommittable()).toEqual([
      { topic: 'a', partition: 0, offset: '2' },
      { topic: 'b', partition: 3, offset: '11' },
    ]);
    expect(queues.takeCommittable()).toEqual([]);
  });

  it('hands it out again when the commit failed', async () => {
    queues.push(from('a', 0), messagesUpTo(1));
    await endAll();
    const offsets = queues.takeCommittable();
    queues.settle(offsets, false);
    expect(queues.takeCommittable()).toEqual(offsets);
    queues.settle([{ topic: 'gone', partition: 0, offset: '1' }], false);
    expect(queues.takeCommittable()).toEqual([]);
  });

  it('asks for a pause of the partition that is full and resumes that one alone', async () => {
    expect(queues.push(from('a', 0), messagesUpTo(3000))).toBe(true);
    expect(queues.push(from('a', 1), messagesUpTo(1))).toBe(false);
    await endAll();
    expect(resumed).toEqual(['a/0']);
  });

  it('drops what is no longer owned before anything more is committed for it', async () => {
    queues.push(from('a', 0), messagesUpTo(1));
    queues.push(from('a', 1), messagesUpTo(1));
    queues.push(from('b', 0), messagesUpTo(1));
    queues.reassign(new Map([['a', [1, 2]]]));
    expect(underWay.map(({ message }) => message.signal.aborted)).toEqual([true, false, true]);
    expect(resumed).toEqual(['a/0', 'b/0', 'b/3']);
    await endAll();
    expect(queues.takeCommittable()).toEqual([{ topic: 'a', partition: 1, offset: '1' }]);
  });

  it('starts anew with a partition that comes back', async () => {
    queues.push(from('a', 0), messagesUpTo(2));
    queues.reassign(new Map());
    queues.reassign(new Map([['a', [0]]]));
    queues.push(from('a', 0), messagesUpTo(2));
    expect(underWay.map(({ message }) => message.signal.aborted)).toEqual([
      true,
      true,
      false,
      false,
    ]);
    await endAll();
    expect(queues.takeCommittable()).toEqual([{ topic: 'a', partition: 0, offset: '2' }]);
  });

  it('takes nothing of a partition that is not its own: the fetch was under way when it was lost', async () => {
    expect(queues.push(from('a', 7), messagesUpTo(1, 5500))).toBe(false);
    await endAll();
    expect(queues.takeCommittable()).toEqual([]);
  });

  it('starts over when offsets begin before what was committed: the topic is another one now', async () => {
    Logger.overrideLogger(false);
    queues.push(from('a', 0), messagesUpTo(100));
    while (queues.takeCommittable()[0]?.offset !== '100') await endAll();
    queues.settle([{ topic: 'a', partition: 0, offset: '100' }], true);
    queues.push(from('a', 0), messagesUpTo(2));
    expect(underWay).toHaveLength(2);
    await endAll();
    expect(queues.takeCommittable()).toEqual([{ topic: 'a', partition: 0, offset: '2' }]);
  });

  it('closes when the calls in flight have ended, and still commits what they finished', async () => {
    queues.push(from('a', 0), messagesUpTo(1));
    const closed = queues.closeAll();
    expect(underWay[0]?.message.signal.aborted).toBe(true);
    await endAll();
    await closed;
    expect(queues.takeCommittable()).toEqual([{ topic: 'a', partition: 0, offset: '1' }]);
  });

  it('tells how much is left: fetched and unfinished, and in Kafka behind the committed', async () => {
    queues.push(from('a', 0, 10), messagesUpTo(3));
    const backlog = () => queues.backlog().filter(({ messages }) => messages > 0);
    expect(backlog()).toEqual([{ topic: 'a', partition: 0, messages: 3, lag: 3 }]);
    underWay.shift()?.end();
    await nextTurn();
    expect(backlog()).toEqual([{ topic: 'a', partition: 0, messages: 2, lag: 9 }]);
  });
});
