import { loadBridgeSettings } from '#libs/config';
import { captureLogs } from '../../../logging/test/captured-logs.js';
import { createKafka } from './kafka-client.js';

describe('a log line of kafkajs', () => {
  it('has a text, also where kafkajs logs an error as it is', () => {
    const logs = captureLogs();
    const { kafka } = loadBridgeSettings({
      ...{ KAFKA_BROKERS: 'kafka:9092' },
      ...{ MACHINE_CLOUD_BASE_URL: 'https://cloud', MACHINE_CLOUD_TOKEN: 't' },
    });
    const logger = createKafka(kafka).logger();
    logger.error(new Error('there is no token') as never);
    expect(logs.lines()).toMatchObject([{ msg: 'there is no token' }]);
  });
});
