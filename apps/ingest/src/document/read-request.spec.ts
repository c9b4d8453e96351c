import { readDocument } from './read-request.js';

describe('headers of a document', () => {
  it('are read as UTF-8, and as Latin-1 where they are none', () => {
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
