import { startLocalKafka, type LocalKafka } from '../../tools/kafka/local-kafka.mjs';
import { eventually } from '../support/eventually.js';
import { type Plant, startPlant } from '../support/plant.js';
import { temporaryFolder } from '../../libs/config/test/temporary-files.js';

describe('a Kafka that falls silent', () => {
  let broker: LocalKafka;
  let plant: Plant;

  beforeAll(async () => {
    broker = await startLocalKafka({ dir: temporaryFolder() });
    plant = await startPlant({ brokers: [broker.brokers] });
  });

  afterAll(async () => {
    await plant.close();
    await broker.kill();
  });

  const readiness = async (): Promise<number> =>
    (await fetch(`${plant.bridgeUrl}/health/ready`)).status;

  const states = async (): Promise<unknown[]> => {
    const response = await fetch(`${plant.bridgeUrl}/api/flows`);
    return ((await response.json()) as { state: unknown }[]).map(({ state }) => state);
  };

  it('is given up, and joined anew when it answers again', async () => {
    broker.freeze();
    try {
      await eventually(
        'the bridge says that Kafka is away',
        async () => (await readiness()) === 503,
      );
      expect(new Set(await states())).toEqual(new Set(['paused']));
    } finally {
      broker.thaw();
    }
    await eventually('the bridge is ready again', async () => (await readiness()) === 200, 90_000);
    await plant.kafka.sendList('M-001', ['after-silence']);
    await plant.sandbox.listBecomes('M-001', ['after-silence']);
    expect(new Set(await states())).toEqual(new Set(['running']));
  }, 180_000);
});
