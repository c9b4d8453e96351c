import { FinalFailure } from '../eventually.js';
import { TopicReader } from '../topic-reader.js';
import { DOCUMENTED_TOPICS } from './event-documents.js';
import { exampleRecord } from './example-record.js';
import { expectValidEvent } from './expect-valid-event.js';
import type { PublishedRecord } from './published-record.js';

interface Change {
  headers?: Record<string, string | undefined>;
  payload?: object;
  key?: string;
}

/** The first example of a message with changes; undefined removes a header or a field. */
function record(message: string, { headers, payload, key }: Change = {}): PublishedRecord {
  for (const { name: topic, messages } of DOCUMENTED_TOPICS) {
    const [example] = messages.find(({ name }) => name === message)?.examples ?? [];
    if (example === undefined) continue;
    const published = exampleRecord(topic, {
      name: example.name,
      headers: withoutAbsent({ ...example.headers, ...headers }),
      payload: { ...(example.payload as object | undefined), ...payload },
    });
    return key === undefined ? published : { ...published, key: Buffer.from(key) };
  }
  throw new Error(`no example of ${message}`);
}

function withoutAbsent(headers: Record<string, string | undefined>): Record<string, string> {
  const present = Object.entries(headers).filter(([, text]) => text !== undefined);
  return Object.fromEntries(present) as Record<string, string>;
}

const CHANGED = 'machine.state.changed.v1';
const LOST = 'machine.observation.lost.v1';
const APPLIED = 'work-order-list.applied.v1';

describe('an event', () => {
  it.each([CHANGED, LOST, APPLIED, 'machine-state'])('passes as documented: %s', (message) => {
    expectValidEvent(record(message));
    expectValidEvent(record(message, { payload: { later: 1 }, headers: { traceparent: 'x' } }));
  });

  it.each<[string, string, Change, RegExp]>([
    ['without a field', CHANGED, { payload: { detectedAt: undefined } }, /'detectedAt'/],
    ['with a state that is none', CHANGED, { payload: { state: 'ON' } }, /state must be.*"IDLE"/],
    ['in milliseconds', CHANGED, { payload: { detectedAt: 1763712033000 } }, /detectedAt must be/],
    ['of a type that is none', CHANGED, { headers: { ce_type: 'machine.gone.v1' } }, /ce_type/],
    ['without a sequence', CHANGED, { headers: { ce_sequence: undefined } }, /'ce_sequence'/],
    ['with a time that is none', LOST, { headers: { ce_time: 'yesterday' } }, /"date-time"/],
    ['with the data of another type', LOST, { headers: { ce_type: CHANGED } }, /ce_type|'state'/],
    ['that is no CloudEvent', APPLIED, { headers: { ce_specversion: undefined } }, /specversion/],
    ['applied at no time', APPLIED, { payload: { appliedAt: null } }, /appliedAt must be integer/],
    ['applied with a code', APPLIED, { payload: { code: 'too-large' } }, /code must be null/],
  ])('is refused %s', (_, message, change, complaint) => {
    expect(() => expectValidEvent(record(message, change))).toThrow(complaint);
  });

  it.each<[string, string, Change, RegExp]>([
    ["another machine's key", LOST, { key: 'M-1' }, /the key is M-1, not M-007/],
    ["another machine's key", 'machine-state', { key: 'M-1' }, /the key is M-1, not M-007/],
    ['another subject', CHANGED, { headers: { ce_subject: 'M-1' } }, /ce_subject is M-1/],
    ['another factory', CHANGED, { payload: { factoryId: 'F-1' } }, /ce_source is .*F-2/],
    ['the time of detection', CHANGED, { headers: { ce_time: '2025-11-21T08:00:33Z' } }, /ce_time/],
    ['an id of something else', CHANGED, { payload: { revision: 1 } }, /ce_id/],
    ['half a previous state', CHANGED, { payload: { previousStartTime: 1 } }, /previous/],
    ['an id of another message', APPLIED, { headers: { ce_id: 'a'.repeat(64) } }, /ce_id/],
    ['no subject', APPLIED, { headers: { ce_subject: undefined } }, /ce_subject is undefined/],
  ])('contradicts itself with %s', (_, message, change, complaint) => {
    expect(() => expectValidEvent(record(message, change))).toThrow(complaint);
  });

  it('is refused when it is not JSON, or is missing and required', () => {
    for (const value of [null, Buffer.from('{')]) {
      expect(() => {
        expectValidEvent({ ...record(CHANGED), value });
      }).toThrow('value: it must be object');
    }
  });

  it('may have no value on a topic that machines can leave', () => {
    expectValidEvent({ ...record('machine-state'), value: null, headers: {} });
  });
});

describe('a dead letter', () => {
  const deadLetter = record('dead-letter');

  it('may hold anything, as long as it says why', () => {
    for (const value of [null, Buffer.from([0xff, 0x00]), Buffer.from('{"machineId":')]) {
      expectValidEvent({ ...deadLetter, value });
    }
  });

  it.each([
    ['dlq-code', 'typo', /dlq-code must be equal to one of/],
    ['dlq-http-status', 'none', /dlq-http-status must match/],
    ['dlq-source-topic', 'erp.work-orders.v1', /whether it came from the topic/],
  ])('is refused with another %s', (name, text, complaint) => {
    const headers = { ...deadLetter.headers, [name]: Buffer.from(text) };
    expect(() => expectValidEvent({ ...deadLetter, headers })).toThrow(complaint);
  });
});

describe('what a test reads', () => {
  const place = { partition: 0, offset: 0 };

  it('fails the test at its next read, without a wait', async () => {
    const reader = new TopicReader();
    reader.addRecord({ ...record(LOST), ...place });
    expect(reader.records).toHaveLength(1);

    reader.addRecord({ ...record(LOST, { payload: { reason: 'lunch' } }), ...place });
    expect(() => reader.records).toThrow(/reason must be equal to one of/);
    await expect(reader.find('a record', () => true)).rejects.toThrow(FinalFailure);
    await expect(reader.findAtLeast(1, 'record', () => true)).rejects.toThrow(/reason must be/);
  });

  it('may be anything on topics of other systems', () => {
    const reader = new TopicReader();
    const anything = { key: null, value: Buffer.from('{'), headers: {} };
    reader.addRecord({ topic: 'erp.work-order-lists.v1', ...anything, ...place });
    reader.addRecord({ topic: 'events', ...anything, ...place });
    expect(reader.records).toHaveLength(2);
  });
});
