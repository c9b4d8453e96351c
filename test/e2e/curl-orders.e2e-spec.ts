import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { eventually } from '../support/eventually.js';
import { type Plant, startPlant } from '../support/plant.js';
import { RunningIngest } from '../support/running-ingest.js';

const DEMO = {
  EQUIPMENT_MAP_FILE: 'demo/equipment-map.json',
  INGEST_SENDERS_FILE: 'demo/ingest-senders.json',
};
const BLOCK = /^```sh\n(order\(\) [^]*?)^```$/m;
const EXPECTED = /# (\S+) on (M-\d+)$/gm;

/** The command of the page with another address. */
const [, documented = ''] = BLOCK.exec(readFileSync('docs/erp/index.md', 'utf8')) ?? [];
const orders = [...documented.matchAll(EXPECTED)].map(([, orderId = '', machineId = '']) => ({
  orderId,
  machineId,
}));

describe('the commands of docs/erp/index.md, with the files of the demo', () => {
  let plant: Plant;
  let ingest: RunningIngest;
  let answers: string[];

  beforeAll(async () => {
    plant = await startPlant({ env: { EQUIPMENT_MAP_FILE: DEMO.EQUIPMENT_MAP_FILE } });
    ingest = await (await RunningIngest.start(plant.kafka.topicPrefix, DEMO)).ready();
    const [posts = ''] = documented.split('\n\ncurl ');
    const script = posts.replace('http://127.0.0.1:3300', ingest.url);
    const { stdout } = await promisify(execFile)('bash', ['-c', script]);
    answers = stdout.trim().split('\n');
  });

  afterAll(async () => {
    await ingest.close();
    await plant.close();
  });

  it('post an order of each format to Kafka', () => {
    expect(orders).toHaveLength(11);
    expect(answers).toHaveLength(orders.length);
    for (const answer of answers) {
      expect(JSON.parse(answer)).toMatchObject({ offset: expect.any(Number) as number });
    }
  });

  it.each(orders)(
    'set the list of $machineId with order $orderId',
    async ({ orderId, machineId }) => {
      await eventually(`${orderId} is on the list of ${machineId}`, async () => {
        const { workingOrders } = await plant.sandbox.machine(machineId);
        return workingOrders.some((it) => it === orderId || it.startsWith(`${orderId}-`));
      });
    },
  );
});
