import fc from 'fast-check';
import { createHash } from 'node:crypto';
import { OUTCOME_TYPES } from './command-outcomes.js';
import {
  charsetOf,
  cloudEventHeaders,
  type Envelope,
  factorySource,
  frameJson,
  headerText,
  type MessageHeaders,
  openEnvelope,
  outcomeId,
  schemaFrameOf,
  SEQUENCE_EXTENSION,
  stateChangeId,
  withoutFrame,
} from './envelope.js';
import { parseWorkOrderLists } from './input-messages.js';
import { MAX_BODY_BYTES } from './json.js';
import { anyCharacter } from './testing/any-character.js';

describe('headers of a message', () => {
  it('are null when absent or empty', () => {
    expect(headerText([], 'message-id')).toBeNull();
    expect(headerText([['message-id', null]], 'message-id')).toBeNull();
    expect(headerText([['message-id', Buffer.alloc(0)]], 'message-id')).toBeNull();
  });

  it('are found by their exact name before a name in another case, the first of several', () => {
    const headers = [
      ['Message-Id', 'a'],
      ['message-id', Buffer.from('b')],
      ['message-id', 'c'],
      ['MESSAGE-ID', 'd'],
    ] as const;
    expect(headerText(headers, 'message-id')).toBe('b');
    expect(headerText(headers.slice(2).toReversed(), 'message-id')).toBe('c');
    expect(headerText([['MESSAGE-ID', 'd'], ...headers.slice(0, 1)], 'message-id')).toBe('d');
  });
});

describe('the charset of a content type', () => {
  it.each([
    ['application/xml; charset=ISO-8859-1', 'iso-8859-1'],
    ['text/xml;version=1; Charset = "utf-8"', 'utf-8'],
    ['application/xml', undefined],
    [null, undefined],
  ])('of %j is %j', (contentType, charset) => {
    expect(charsetOf(contentType)).toBe(charset);
  });
});

const STRUCTURED_TYPE = Buffer.from('Application/CloudEvents+JSON; charset=utf-8');
const STRUCTURED: MessageHeaders = [['Content-Type', STRUCTURED_TYPE]];
const EVENT = { specversion: '1.0', id: 'e-1', source: '/erp', type: 'list' };

function open(value: Buffer | string | null, headers: MessageHeaders = []): Envelope {
  const envelope = openEnvelope({ value: value === null ? null : Buffer.from(value), headers });
  if (!envelope.ok) throw new Error(`${envelope.rejection.code}: ${envelope.rejection.detail}`);
  return envelope.value;
}
const openEvent = (event: object): Envelope => open(JSON.stringify(event), STRUCTURED);

describe('opening a message', () => {
  it('returns the value of a plain message as the body', () => {
    expect(open('{}')).toEqual({
      messageId: null,
      sender: null,
      contentType: null,
      body: Buffer.from('{}'),
    });
  });

  it('prefers the id of a binary CloudEvent', () => {
    const headers = { 'message-id': 'm-1', ce_id: 'e-1', 'content-type': 'application/xml' };

    expect(open('<a/>', Object.entries(headers))).toMatchObject({
      messageId: 'e-1',
      contentType: 'application/xml',
    });
  });

  it.each([['x'.repeat(257)], ['a\nb'], ['']])(
    'ignores an id that is not a valid identifier',
    (id) => {
      expect(open('{}', [['message-id', id]]).messageId).toBeNull();
    },
  );

  it('takes the data of a structured CloudEvent as the body', () => {
    const envelope = openEvent({ ...EVENT, data: { machineId: 'M-1' } });

    expect(envelope).toEqual({
      messageId: 'e-1',
      sender: null,
      contentType: 'application/json',
      body: Buffer.from('{"machineId":"M-1"}'),
    });
  });

  it('takes string data of another content type as the document itself', () => {
    const envelope = openEvent({ ...EVENT, datacontenttype: 'text/csv', data: 'é' });

    expect(envelope).toMatchObject({ contentType: 'text/csv', body: Buffer.from('é') });
  });

  it.each([
    ['it', 'text/xml', '<?xml version="1.0" encoding="ISO-8859-1"?><é/>'],
    ['its content type', 'text/xml; charset=ISO-8859-1', '\n<é/>'],
  ])('marks XML of an event as what it is by now, whatever %s declares', (_what, type, data) => {
    const envelope = openEvent({ ...EVENT, datacontenttype: type, data });

    expect(envelope).toMatchObject({ body: Buffer.from(`\ufeff${data}`) });
  });

  it('keeps string data of JSON content as a JSON string', () => {
    expect(openEvent({ ...EVENT, data: 'text' }).body.toString()).toBe('"text"');
  });

  it('decodes binary data', () => {
    const data = Buffer.from([0, 255, 16]);

    expect(openEvent({ ...EVENT, data_base64: data.toString('base64') }).body).toEqual(data);
  });

  it.each([
    ['without a source', { ...EVENT, source: undefined, data: {} }, 'source'],
    ['without a type', { ...EVENT, type: '', data: {} }, 'type'],
    ['with a number as id', { ...EVENT, id: 1, data: {} }, 'id'],
    ['of another version', { ...EVENT, specversion: '0.3', data: {} }, 'specversion'],
    ['without data', EVENT, 'no data'],
    ['with data twice', { ...EVENT, data: 1, data_base64: '' }, 'both'],
    ['with broken base64', { ...EVENT, data_base64: 'abc' }, 'base64'],
    ['with a content type that is no text', { ...EVENT, datacontenttype: 1, data: 1 }, 'datacont'],
  ])('refuses a structured CloudEvent %s', (_name, event, complaint) => {
    expect(() => openEvent(event)).toThrow(new RegExp(`^invalid-message: .*${complaint}`));
  });

  it('refuses data with a number that JavaScript reads as infinite, which would count as absent', () => {
    const event = JSON.stringify({ ...EVENT, data: { startTime: 1, endTime: null } });
    const boundless = event.replace('null', '1e400');

    expect(() => open(boundless, STRUCTURED)).toThrow('invalid-message: CloudEvent data');
    expect(open(event, STRUCTURED).body.toString()).toBe('{"startTime":1,"endTime":null}');
  });

  it('refuses a message without a value', () => {
    expect(() => open(null)).toThrow('invalid-json');
  });

  it('refuses a message above the largest size', () => {
    expect(() => open(Buffer.alloc(MAX_BODY_BYTES + 1))).toThrow('too-large');
  });
});

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

  it('can name a factory whose id has half a surrogate pair', () => {
    expect(factorySource('\ud800')).toBe('/machine-bridge/factories/%EF%BF%BD');
  });
});

describe('event ids', () => {
  it('are equal for the same state change and differ for any other', () => {
    const id = stateChangeId('M-1', 1763680000, 'IDLE', 0);

    expect(stateChangeId('M-1', 1763680000, 'IDLE', 0)).toBe(id);
    expect(id).toMatch(/^[0-9a-f]{64}$/);
    const others = [
      stateChangeId('M-2', 1763680000, 'IDLE', 0),
      stateChangeId('M-1', 1763680001, 'IDLE', 0),
      stateChangeId('M-1', 1763680000, 'OFF', 0),
      stateChangeId('M-1', 1763680000, 'IDLE', 1),
    ];
    expect(new Set([id, ...others]).size).toBe(5);
  });

  it('of outcomes are the hash of a JSON list, as in all releases', () => {
    const text = fc.string({ unit: anyCharacter });
    const place = fc.record({ topic: text, partition: fc.nat(), offset: fc.maxSafeNat() });
    const types = fc.constantFrom(...Object.values(OUTCOME_TYPES));
    const orderIds = fc.option(text, { nil: undefined });
    fc.assert(
      fc.property(place, fc.option(text), types, orderIds, (source, machineId, type, orderId) => {
        const parts = [source.topic, source.partition, source.offset, machineId, type];
        if (orderId !== undefined) parts.push(orderId);
        const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
        expect(outcomeId(source, machineId, type, orderId)).toBe(hash);
      }),
    );
  });
});

const LIST = '{"machineId":"M-1","workingOrders":["4711"]}';
const GUID = '0123456789abcdef0123456789abcdef';

describe('a value in the frame of a schema registry', () => {
  it('is read without a registry where its payload is JSON', () => {
    const envelope = openEnvelope({ value: frameJson(7, LIST), headers: [['message-id', 'a']] });

    expect(envelope).toMatchObject({
      ok: true,
      value: { messageId: 'a', body: Buffer.from(LIST) },
    });
    expect(envelope.ok && parseWorkOrderLists(envelope.value.body).ok).toBe(true);
  });

  it('may carry a CloudEvent in structured mode', () => {
    const event = { specversion: '1.0', id: 'e-1', source: '/erp', type: 't', data: { a: 1 } };
    const envelope = openEnvelope({
      value: frameJson(1, JSON.stringify(event)),
      headers: [['content-type', 'application/cloudevents+json']],
    });

    expect(envelope).toMatchObject({ ok: true, value: { messageId: 'e-1' } });
    expect(envelope.ok && envelope.value.body.toString()).toBe('{"a":1}');
  });

  it.each([
    ['Avro', frameJson(100_001, '\u0006M-1'), 'schema id 100001'],
    ['nothing', frameJson(1, ''), 'schema id 1'],
    ['Protobuf', frameJson(4_294_967_295, '\0\n\u0003M-1'), 'id 4294967295'],
  ])('is refused without a registry where it carries %s', (_, value, schema) => {
    const envelope = openEnvelope({ value, headers: [] });

    const { code, detail } = envelope.ok ? { code: '', detail: '' } : envelope.rejection;
    expect(code).toBe('invalid-message');
    expect(detail).toContain('Confluent frame');
    expect(detail).toContain(schema);
    expect(detail).toContain('KAFKA_SCHEMA_REGISTRY_URL');
  });

  it('is refused by the reader of its JSON where the JSON is invalid', () => {
    const envelope = openEnvelope({ value: frameJson(7, '{"machineId":'), headers: [] });

    expect(envelope.ok && parseWorkOrderLists(envelope.value.body)).toMatchObject({
      rejection: { code: 'invalid-json' },
    });
  });

  it('is not recognised in XML in UTF-16, in a shorter value, or without a value', () => {
    const xml = Buffer.from('<?xml', 'utf16le').swap16();
    for (const value of [xml, Buffer.from([0, 0, 0, 1]), Buffer.alloc(0), Buffer.from(LIST), null])
      expect(schemaFrameOf({ value, headers: [] })).toBeUndefined();
  });

  it('is made from JSON, which is read back', () => {
    const text = '{"detail":"Größe"}';
    const value = frameJson(0xfedc_ba98, text);
    expect(value.subarray(0, 5)).toEqual(Buffer.from('00fedcba98', 'hex'));
    expect(withoutFrame(value).toString()).toBe(text);
    for (const plain of [text, '', '7']) {
      expect(withoutFrame(Buffer.from(plain)).toString()).toBe(plain);
    }
  });

  it('may have its frame in a header', () => {
    const header = Buffer.from(`01${GUID}0206`, 'hex');
    const frame = schemaFrameOf({
      value: Buffer.from([8, 1]),
      headers: [['__value_schema_id', header]],
    });

    expect(frame?.schema).toEqual({ guid: '01234567-89ab-cdef-0123-456789abcdef' });
    // the indexes of a Protobuf message are in the header too
    expect(frame?.payload).toEqual(Buffer.from([2, 6, 8, 1]));
  });

  it('with its frame in a header is read where it is JSON', () => {
    const headers = [['__value_schema_id', Buffer.from(`01${GUID}`, 'hex')]] as const;

    expect(openEnvelope({ value: Buffer.from(LIST), headers })).toMatchObject({
      value: { body: Buffer.from(LIST) },
    });
    expect(openEnvelope({ value: Buffer.from([6, 77]), headers })).toMatchObject({
      rejection: { detail: expect.stringContaining('schema GUID 01234567-89ab') as string },
    });
  });

  it('is not recognised by a header that has another form', () => {
    const headers = [
      ['__value_schema_id', 'v7'],
      ['other', null],
    ] as const;
    expect(schemaFrameOf({ value: Buffer.from(LIST), headers })).toBeUndefined();
  });

  it('never throws for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), fc.uint8Array({ maxLength: 40 }), (a, b) => {
        const message = {
          value: Buffer.from(a),
          headers: [['__value_schema_id', Buffer.from(b)]] as const,
        };
        expect(typeof openEnvelope(message).ok).toBe('boolean');
      }),
    );
  });
});
