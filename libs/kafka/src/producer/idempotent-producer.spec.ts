import { CompressionTypes, type ProducerBatch } from '#libs/kafkajs-patches';
import type { KafkaClient } from '../client/kafka-port.js';
import { IdempotentProducer } from './idempotent-producer.js';
import type { OutboundRecord } from './outbound-record.js';

describe('an idempotent producer', () => {
  it('compresses what it sends together, for a slow line has to take it within the time of a request', async () => {
    const compressions: unknown[] = [];
    const client = {
      ...{ connect: () => Promise.resolve(), disconnect: () => Promise.resolve() },
      sendBatch: ({ compression }: ProducerBatch) => {
        compressions.push(compression);
        return Promise.resolve([{ partition: 0, baseOffset: '0' }]);
      },
    };
    const producer = new IdempotentProducer({ producer: () => client } as unknown as KafkaClient);
    const record = (key: string): OutboundRecord => ({ topic: 't', key, value: 'x', headers: {} });
    await producer.sendRecords(['a', 'b'].map(record));
    await producer.sendRecord(record('c'));
    await producer.closeProducer();
    expect(compressions).toEqual([CompressionTypes.GZIP, CompressionTypes.None]);
  });
});
