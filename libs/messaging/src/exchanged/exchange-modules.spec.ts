import { createRequire } from 'node:module';
import { encodeRecord } from './encode-record.js';
import { exchangeModules } from './exchange-modules.js';

const require = createRequire(import.meta.url);

interface ProduceRequest {
  encode(): Promise<{ buffer: Buffer }>;
}

describe('the encoding that kafkajs uses', () => {
  it('is our own in the requests it makes afterwards', async () => {
    exchangeModules();

    const produce = require('kafkajs/src/protocol/requests/produce/v3/request.js') as (
      fields: object,
    ) => ProduceRequest;
    const message = { value: 'text', headers: { name: 'of a header' } };
    const request = produce({
      acks: -1,
      timeout: 1000,
      topicData: [{ topic: 'topic', partitions: [{ partition: 0, messages: [message] }] }],
    });

    const { buffer } = await request.encode();
    expect(buffer.includes(encodeRecord(message).buffer)).toBe(true);
    expect(require('kafkajs/src/protocol/recordBatch/record/v0/index.js')).toBe(encodeRecord);
  });
});
