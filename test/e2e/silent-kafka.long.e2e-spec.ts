import { startLocalKafka, type LocalKafka } from '../../tools/kafka/local-kafka.mjs';
import { eventually } from '../support/eventually.js';
import { untilReady, untilUnready } from '../support/health.js';
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

  const untilAllAre = async (wanted: string): Promise<void> => {
    await eventually(`all flows are ${wanted}`, async () => {
      const response = await fetch(`${plant.bridgeUrl}/api/flows`);
      const flows = (await response.json()) as { state: unknown }[];
      return flows.every(({ state }) => state === wanted);
    });
  };

  it('loses the bridge, which rejoins when it answers again', async () => {
    broker.freeze();
    try {
      await untilUnready(plant.bridgeUrl, 'kafka');
      await untilAllAre('paused');
    } finally {
      broker.thaw();
    }
    await untilReady(plant.bridgeUrl);
    await plant.kafka.sendList('M-001', ['after-silence']);
    await plant.sandbox.listBecomes('M-001', ['after-silence']);
    await untilAllAre('running');
  });
});
