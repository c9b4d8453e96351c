import fc from 'fast-check';
import { openEnvelope } from './envelope.js';
import { frameJson, schemaFrameOf, withoutFrame } from './schema-frame.js';
import { parseWorkOrderLists } from './input-messages.js';

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
