import type { Envelope } from './envelope.js';
import type { MessageHeaders } from './message-headers.js';
import { openEnvelope } from './open-envelope.js';
import { MAX_BODY_BYTES } from './read-json.js';

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
  it('takes a plain message as it is', () => {
    expect(open('{}')).toEqual({ messageId: null, contentType: null, body: Buffer.from('{}') });
  });

  it('takes the first message-id header, whatever its case and whether bytes or text', () => {
    const [bytes, text] = [Buffer.from('m-1'), 'm-2'];
    const headers = [['Message-ID', bytes] as const, ['Message-ID', text] as const];
    expect(open('{}', headers).messageId).toBe('m-1');
    expect(open('{}', headers.toReversed()).messageId).toBe('m-2');
  });

  it('prefers the id of a binary CloudEvent', () => {
    const headers = { 'message-id': 'm-1', ce_id: 'e-1', 'content-type': 'application/xml' };

    expect(open('<a/>', Object.entries(headers))).toMatchObject({
      messageId: 'e-1',
      contentType: 'application/xml',
    });
  });

  it.each([['x'.repeat(257)], ['a\nb'], ['']])('takes no id that cannot be passed on', (id) => {
    expect(open('{}', [['message-id', id]]).messageId).toBeNull();
  });

  it('takes the data of a structured CloudEvent as the body', () => {
    const envelope = openEvent({ ...EVENT, data: { machineId: 'M-1' } });

    expect(envelope).toEqual({
      messageId: 'e-1',
      contentType: 'application/json',
      body: Buffer.from('{"machineId":"M-1"}'),
    });
  });

  it('takes text data of another content type as that document', () => {
    const envelope = openEvent({ ...EVENT, datacontenttype: 'text/xml', data: '<é/>' });

    expect(envelope).toMatchObject({ contentType: 'text/xml', body: Buffer.from('<é/>') });
  });

  it('keeps text data of JSON content a JSON string', () => {
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

  it('refuses a message without a value', () => {
    expect(() => open(null)).toThrow('invalid-json');
  });

  it('refuses a message above the largest size', () => {
    expect(() => open(Buffer.alloc(MAX_BODY_BYTES + 1))).toThrow('too-large');
  });
});
