import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TOPICS } from '#libs/contracts';
import { startLocalKafka, type LocalKafka } from '../../tools/kafka/local-kafka.mjs';
import { eventually } from '../support/eventually.js';
import { type Plant, startPlant } from '../support/plant.js';

describe('a Kafka that falls silent', () => {
  let folder: string;
  let broker: LocalKafka;
  let plant: Plant;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kafka-restart-'));
    broker = await startLocalKafka({ dir: folder });
    plant = await startPlant({ brokers: [broker.brokers] });
  });

  afterAll(async () => {
    await plant.close();
    await broker.kill();
    await rm(folder, { recursive: true, force: true });
  });

  const readiness = async (): Promise<number> =>
    (await fetch(`${plant.bridgeUrl}/health/ready`)).status;

  it('is given up, and joined anew when it answers again', async () => {
    broker.freeze();
    try {
      await eventually(async () => (await readiness()) === 503, {
        what: 'the bridge says that Kafka is away',
        timeoutMs: 60_000,
      });
    } finally {
      broker.thaw();
    }
    await eventually(async () => (await readiness()) === 200, {
      what: 'the bridge is ready again',
      timeoutMs: 90_000,
    });
    const list = { machineId: 'M-001', workingOrders: ['after-silence'] };
    await plant.kafka.sendJson(TOPICS.workOrderLists, 'M-001', list);
    await plant.sandbox.listBecomes('M-001', ['after-silence']);
  }, 180_000);
});
