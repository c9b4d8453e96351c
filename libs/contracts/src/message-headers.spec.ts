import { cloudEventHeaders, factorySource, SEQUENCE_EXTENSION } from './cloud-event-headers.js';
import { deadLetterHeaders } from './dead-letter-headers.js';
import { headerText } from './message-headers.js';
import { deadLetterTopic, TOPIC_DEFINITIONS } from './topics.js';

describe('headers of an event', () => {
  it('are those of CloudEvents in binary mode', () => {
    const headers = cloudEventHeaders({
      id: 'e-1',
      source: factorySource('F 1/ä'),
      type: 'machine.state.changed.v1',
      time: 1763680000,
      subject: 'M-1',
      extensions: { [SEQUENCE_EXTENSION]: '7' },
    });

    expect(headers).toEqual({
      ce_specversion: '1.0',
      ce_id: 'e-1',
      ce_source: '/machine-bridge/factories/F%201%2F%C3%A4',
      ce_type: 'machine.state.changed.v1',
      ce_time: '2025-11-20T23:06:40Z',
      ce_subject: 'M-1',
      ce_sequence: '7',
      'content-type': 'application/json',
    });
  });

  it('can name a factory whose id is broken text', () => {
    expect(factorySource('\ud800')).toBe('/machine-bridge/factories/%EF%BF%BD');
  });
});

describe('headers of a dead letter', () => {
  const letter = {
    code: 'rejected-by-service',
    detail: 'a line\nand another',
    sourceTopic: 'mes.downtime-reasons.v1',
    partition: 3,
    offset: '42',
    timestamp: '1763680000123',
    failedAt: 1763680001,
    attempts: 2,
  } as const;

  it('say what, where, when and why', () => {
    expect(deadLetterHeaders(letter)).toEqual({
      'dlq-code': 'rejected-by-service',
      'dlq-detail': 'a line\ufffdand another',
      'dlq-source-topic': 'mes.downtime-reasons.v1',
      'dlq-source-partition': '3',
      'dlq-source-offset': '42',
      'dlq-source-timestamp': '1763680000123',
      'dlq-failed-at': '1763680001',
      'dlq-attempts': '2',
    });
  });

  it('list the machines at fault, commas in their ids or not', () => {
    const headers = deadLetterHeaders({ ...letter, httpStatus: 422, machineIds: ['a,b', 'c'] });

    expect(headers['dlq-http-status']).toBe('422');
    expect(headers['dlq-machine-ids']).toBe('a%2Cb,c');
  });
});

describe('headers of a message', () => {
  it('are not found where there are none, or nothing in them', () => {
    expect(headerText([], 'message-id')).toBeNull();
    expect(headerText([['message-id', null]], 'message-id')).toBeNull();
    expect(headerText([['message-id', Buffer.alloc(0)]], 'message-id')).toBeNull();
  });

  it('are found by their very name before that in another case, the first of several', () => {
    const headers = [
      ['Message-Id', 'a'],
      ['message-id', 'b'],
      ['message-id', 'c'],
      ['MESSAGE-ID', 'd'],
    ] as const;
    expect(headerText(headers, 'message-id')).toBe('b');
    expect(headerText(headers.slice(2).toReversed(), 'message-id')).toBe('c');
    expect(headerText([['MESSAGE-ID', 'd'], ...headers.slice(0, 1)], 'message-id')).toBe('d');
  });
});

describe('topics', () => {
  it('have a dead-letter topic for every one that comes in', () => {
    const names = TOPIC_DEFINITIONS.map(({ name }) => name);
    const inputs = TOPIC_DEFINITIONS.filter(({ direction }) => direction === 'in');

    expect(inputs).toHaveLength(3);
    expect(names).toEqual(expect.arrayContaining(inputs.map(({ name }) => deadLetterTopic(name))));
    expect(new Set(names).size).toBe(names.length);
  });
});
