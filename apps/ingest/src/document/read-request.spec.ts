import { readDocument, readEvents } from './read-request.js';

describe('headers of a document', () => {
  it('are read as UTF-8, or as Latin-1 if they are not valid UTF-8', () => {
    const utf8 = (text: string) => Buffer.from(text).toString('latin1');
    const headers = {
      'content-type': 'application/json',
      'idempotency-key': utf8('Stillstand-Köln-1'),
      umh_topic: utf8('umh.v1.acme.köln.gießerei'),
      'source-topic': 'köln',
    };
    expect(readDocument('/orders', headers, Buffer.from('{}'))).toMatchObject({
      value: {
        id: { value: 'Stillstand-Köln-1' },
        headers: [
          ['content-type', 'application/json'],
          ['source-topic', 'köln'],
          ['umh_topic', 'umh.v1.acme.köln.gießerei'],
        ],
      },
    });
  });
});

describe('a batch of events', () => {
  const TYPE = { 'content-type': 'application/cloudevents-batch+json' };
  const EVENT = { specversion: '1.0', id: 'e-1', source: '/mes', type: 'mes.downtime-reasons.v1' };

  it('is refused if a number would be lost when its events are written one by one', () => {
    const batch = JSON.stringify([{ ...EVENT, data: { endTime: null } }]);

    expect(readEvents(TYPE, Buffer.from(batch.replace('null', '-1e400')), [])).toMatchObject({
      ok: false,
      rejection: { code: 'invalid-message', detail: expect.stringMatching(/^event 0: /) as string },
    });
    expect(readEvents(TYPE, Buffer.from(batch), [])).toMatchObject({ ok: true });
  });
});

describe('an event in binary mode', () => {
  it('may have quoted attributes, as earlier versions of the binding allowed', () => {
    const event = { 'ce-specversion': '1.0', 'ce-type': '"erp.work-order-lists.v1"' };
    const escaped = { 'ce-id': String.raw`"list \"1\" of\\2"`, 'ce-source': '"/erp%20of plant 1"' };

    expect(readEvents({ ...event, ...escaped }, Buffer.from('{}'), [])).toMatchObject({
      value: {
        messages: [
          {
            topic: 'erp.work-order-lists.v1',
            id: { source: '/erp of plant 1', value: 'list "1" of\\2' },
          },
        ],
      },
    });
  });

  it('keeps quotes that are part of its attributes', () => {
    const event = {
      'ce-specversion': '1.0',
      'ce-type': 'mes.downtime-reasons.v1',
      'ce-source': '/mes',
    };
    const idOf = (id: string) => readEvents({ ...event, 'ce-id': id }, Buffer.from('{}'), []);

    for (const [id, value] of [
      ['%22a%22', '"a"'],
      ['"', '"'],
      ['3"', '3"'],
      ['"a" or "b"', '"a" or "b"'],
    ] as const) {
      expect(idOf(id)).toMatchObject({ value: { messages: [{ id: { value } }] } });
    }
  });
});
