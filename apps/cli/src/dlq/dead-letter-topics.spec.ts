import {
  deadLetterTopics,
  findDeadLetterTopic,
  inputTopics,
  internalDeadLetterTopics,
} from './dead-letter-topics.js';

const listing = {
  topicPrefix: 'p1.',
  topics: [
    'p1.erp.work-orders.v1',
    'p1.erp.work-orders.v1.dlq',
    'p1.mes.downtime-reasons.v1.dlq',
    'mes.downtime-reasons.v1',
    'p2.mes.downtime-reasons.v1.dlq',
    'p1.of-somebody-else.dlq',
  ],
};

describe("the bridge's topics", () => {
  it('are those of its prefix that there are', () => {
    expect(inputTopics(listing)).toEqual(['p1.erp.work-orders.v1']);
    expect(deadLetterTopics(listing)).toEqual([
      'p1.erp.work-orders.v1.dlq',
      'p1.mes.downtime-reasons.v1.dlq',
    ]);
  });

  it.each([
    'erp.work-orders.v1',
    'erp.work-orders.v1.dlq',
    'p1.erp.work-orders.v1',
    'p1.erp.work-orders.v1.dlq',
  ])('are found as %s', (name) => {
    expect(findDeadLetterTopic(name, listing)).toBe('p1.erp.work-orders.v1.dlq');
  });

  it('are also those of its own that it keeps dead letters for', () => {
    const internal = 'p1.machine-bridge.relayed-orders.v1.dlq';
    const others = ['p2.machine-bridge.relayed-orders.v1.dlq', 'p1.machine-bridge.x.dlq'];
    const topics = [...listing.topics, ...others, internal];
    expect(internalDeadLetterTopics({ ...listing, topics })).toEqual([internal]);
    expect(findDeadLetterTopic('machine-bridge.relayed-orders.v1', { ...listing, topics })).toBe(
      internal,
    );
  });

  it.each(['p2.mes.downtime-reasons.v1', 'erp.work-order-lists.v1', 'of-somebody-else'])(
    'are named where %s is none of them',
    (name) => {
      expect(() => findDeadLetterTopic(name, listing)).toThrow(
        `no dead-letter topic is called ${name}; ` +
          'there are: p1.erp.work-orders.v1.dlq, p1.mes.downtime-reasons.v1.dlq',
      );
    },
  );
});
