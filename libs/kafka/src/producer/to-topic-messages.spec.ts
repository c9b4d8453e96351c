import { toTopicMessages } from './to-topic-messages.js';

const headers = { 'content-type': 'application/json' };

describe('toTopicMessages', () => {
  it('gathers the records of each topic in their order', () => {
    const records = ['a 1', 'b 1', 'a 2', 'b 2', 'a 3'].map((value) => ({
      topic: value.charAt(0),
      key: 'M-1',
      value,
      headers,
    }));
    const message = (value: string) => ({ key: 'M-1', value, headers });
    expect(toTopicMessages(records)).toMatchObject([
      { topic: 'a', messages: ['a 1', 'a 2', 'a 3'].map(message) },
      { topic: 'b', messages: ['b 1', 'b 2'].map(message) },
    ]);
  });

  it('keeps bytes, tombstones and a partition as they are', () => {
    const key = Buffer.from([0xff]);
    const record = { topic: 'a', key, value: null, headers: {}, partition: 3 };
    expect(toTopicMessages([record])).toMatchObject([
      { topic: 'a', messages: [{ key, value: null, headers: {}, partition: 3 }] },
    ]);
  });

  it('makes nothing of nothing', () => {
    expect(toTopicMessages([])).toEqual([]);
  });
});
