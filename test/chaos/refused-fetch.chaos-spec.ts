import { createRequire } from 'node:module';
import { loadKafkaSettings } from '#libs/config';
import { createKafka, followTopics } from '#libs/kafka';
import { type LocalCluster, startLocalCluster } from '../../tools/kafka/local-kafka.mjs';
import { eventually } from '../support/eventually.js';
import { TestKafka, uniqueTopicPrefix } from '../support/kafka.js';
import { temporaryFolder } from '../../libs/config/test/temporary-files.js';

/** The class inside kafkajs at which the test replaces the answer of one broker. */
interface BrokerClass {
  prototype: { fetch: (this: { nodeId: number | string }, request: object) => Promise<unknown> };
}
const require = createRequire(import.meta.url);
const Broker = require('kafkajs/src/broker/index.js') as BrokerClass;
const { createErrorFromCode } = require('kafkajs/src/protocol/error.js') as {
  createErrorFromCode: (code: number) => Error;
};
const TOPIC_AUTHORIZATION_FAILED = 29;

describe('followed topics that one of two brokers refuses to serve', () => {
  let cluster: LocalCluster;
  const { fetch } = Broker.prototype;
  const stopping = new AbortController();

  beforeAll(async () => {
    cluster = await startLocalCluster({ dir: temporaryFolder(), nodes: 2 });
  });

  afterAll(async () => {
    Broker.prototype.fetch = fetch;
    stopping.abort();
    await cluster.kill();
  });

  it('are not reported as up again and again while one broker refuses', async () => {
    const brokers = cluster.brokers.split(',');
    const prefix = uniqueTopicPrefix();
    const plant = new TestKafka(brokers, prefix);
    await plant.topics.createMissing(2, 'followed');
    await plant.close();
    Broker.prototype.fetch = function (request) {
      if (Number(this.nodeId) === 2) throw createErrorFromCode(TOPIC_AUTHORIZATION_FAILED);
      return fetch.call(this, request);
    };
    const states: string[] = [];
    const kafka = createKafka(loadKafkaSettings({ KAFKA_BROKERS: cluster.brokers }));
    const following = followTopics(kafka, [{ topic: `${prefix}followed`, from: 'beginning' }], {
      signal: stopping.signal,
      onRecords: () => undefined,
      onState: (state) => states.push(state),
    });
    const count = (state: string): number => states.filter((each) => each === state).length;
    await eventually('it has been tried for a while', () => count('down') >= 6);
    expect(count('up')).toBeLessThanOrEqual(1);
    Broker.prototype.fetch = fetch;
    await eventually('it is read', () => states.at(-1) === 'up');
    stopping.abort();
    await following;
  });
});
