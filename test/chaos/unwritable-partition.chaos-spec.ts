import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadKafkaSettings } from '#libs/config';
import { createKafka, Outbox } from '#libs/messaging';
import { type LocalCluster, startLocalCluster } from '../../tools/kafka/local-kafka.mjs';
import { eventually } from '../support/eventually.js';
import { TestKafka, uniqueTopicPrefix } from '../support/kafka.js';

const PREFIX = uniqueTopicPrefix();
const TOPIC = 'out';
/** Of the nodes 1 to 3; with node 3 gone, the second lacks a replica that it needs. */
const REPLICAS = [
  [1, 2],
  [2, 3],
];

describe('a partition that lacks a replica in sync', () => {
  let folder: string;
  let cluster: LocalCluster;
  let kafka: TestKafka;
  let outbox: Outbox;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'partition-'));
    cluster = await startLocalCluster({ dir: folder, nodes: 3 });
    const brokers = cluster.brokers.split(',');
    kafka = new TestKafka(brokers, PREFIX);
    outbox = new Outbox(createKafka(loadKafkaSettings({ KAFKA_BROKERS: brokers.join(',') })));
    await kafka.topics.createPlaced(TOPIC, REPLICAS, { 'min.insync.replicas': '2' });
  }, 120_000);

  afterAll(async () => {
    await outbox.close();
    await kafka.close();
    await cluster.kill();
    await rm(folder, { recursive: true, force: true });
  }, 60_000);

  const send = (key: string, partition: number): Promise<void> =>
    outbox.send({ topic: `${PREFIX}${TOPIC}`, key, partition, value: '', headers: {} });

  it('holds up its own records alone, and takes each once and in its order when it is back', async () => {
    await Promise.all([send('a', 0), send('a', 1)]);
    await cluster.nodes[2]!.stop();
    const waiting = ['b', 'c', 'd'].map((key) => send(key, 1));
    for (const key of ['b', 'c', 'd']) await send(key, 0);
    waiting.push(send('e', 1));
    await send('e', 0);
    const problem = await eventually(() => outbox.health()[0]?.problem, {
      what: 'the problem is told',
    });
    expect(problem).toContain(`${PREFIX}${TOPIC}/1`);
    expect(problem).not.toContain(`${PREFIX}${TOPIC}/0`);
    await cluster.nodes[2]!.restart();
    await Promise.all(waiting);
    expect(outbox.health()[0]?.problem).toBeUndefined();
    const reader = await kafka.read(TOPIC);
    await reader.take(10, () => true, 'record');
    for (const [index] of REPLICAS.entries()) {
      const records = reader.records.filter(({ partition }) => partition === index);
      expect(records.map(({ key }) => key?.toString())).toEqual(['a', 'b', 'c', 'd', 'e']);
    }
  }, 180_000);
});
