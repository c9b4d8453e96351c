import { type LocalCluster, startLocalCluster } from '../../tools/kafka/local-kafka.mjs';
import { eventually } from '../support/eventually.js';
import { TestKafka, uniqueTopicPrefix } from '../support/kafka.js';
import { KafkaRelay } from '../support/kafka-relay.js';
import { type Place, RunningIngest } from '../support/running-ingest.js';
import { temporaryFolder } from '../../libs/config/test/temporary-files.js';

const TOPIC = 'erp.work-order-lists.v1';
const LIST = { machineId: 'M-1', workingOrders: ['4711'] };
const FETCH = 1;
const LIST_OFFSETS = 2;

/** With one broker, a process that has read its own claim has read all receipts committed before it. */
describe('an ingest that reads claims from one broker, and receipts late from another', () => {
  const prefix = uniqueTopicPrefix();
  let cluster: LocalCluster;
  let kafka: TestKafka;
  let relay: KafkaRelay;
  const running: RunningIngest[] = [];

  async function start(brokers: string, instance: string): Promise<RunningIngest> {
    const env = { KAFKA_BROKERS: brokers, INGEST_INSTANCE: instance };
    const ingest = await RunningIngest.start(prefix, env);
    running.push(ingest);
    return ingest.ready();
  }

  beforeAll(async () => {
    cluster = await startLocalCluster({ dir: temporaryFolder(), nodes: 2 });
    kafka = new TestKafka(cluster.brokers.split(','), prefix);
    await kafka.topics.createPlaced('machine-bridge.ingest-claims.v1', [1]);
    await kafka.topics.createPlaced('machine-bridge.ingest-receipts.v1', [2]);
    relay = await KafkaRelay.to(cluster.nodes[1]!.brokers);
  });

  afterAll(async () => {
    await Promise.all(running.map((it) => it.close()));
    await relay.close();
    await kafka.close();
    await cluster.kill();
  });

  it('waits for the receipts of a process that it fenced before it claims its ids', async () => {
    const first = await start(cluster.brokers, 'first');
    const late = await start(relay.address, 'late');
    let looks = 0;
    relay.holdBack((request) => {
      const api = request.readInt16BE(4);
      if (api === LIST_OFFSETS) looks += 1;
      return api === FETCH;
    });
    await eventually('receipts are not read', () => relay.heldBack > 0);
    const headers = { 'idempotency-key': 'written' };
    const written = await first.post('/lists', LIST, headers);
    const place = (await written.json()) as Place;
    const again = late.post('/lists', LIST, headers);
    await eventually('it looks for the end of the receipts', () => looks > 0);
    relay.release();
    await again;
    const answer = await eventually('it is answered', async () => {
      const repeated = await late.post('/lists', LIST, headers);
      return repeated.ok && repeated;
    });
    expect([written.status, answer.status, await answer.json()]).toEqual([202, 200, place]);
    expect(await kafka.topics.count(TOPIC)).toBe(1);
  });
});
