import { TOPICS } from '#libs/contracts';
import { type Plant, startPlant } from '../support/plant.js';
import { CompressionTypes } from '../support/stock-kafkajs.js';

describe('input in the encodings of producers', () => {
  let plant: Plant;

  beforeAll(async () => {
    plant = await startPlant();
  });

  afterAll(() => plant.close());

  it.each([
    ['gzip', CompressionTypes.GZIP],
    ['snappy', CompressionTypes.Snappy],
    ['lz4', CompressionTypes.LZ4],
    ['zstd', CompressionTypes.ZSTD],
  ])('is read when compressed with %s', async (name, compression) => {
    const list = { machineId: 'M-001', workingOrders: [name] };
    await plant.kafka.sendCompressed(TOPICS.workOrderLists, compression, {
      key: 'M-001',
      value: JSON.stringify(list),
    });
    await plant.sandbox.listBecomes('M-001', [name]);
  });

  it('is read after its transaction commits, and not after an abort', async () => {
    const list = (order: string) => ({
      key: 'M-002',
      value: JSON.stringify({ machineId: 'M-002', workingOrders: [order] }),
    });
    await plant.kafka.transact(TOPICS.workOrderLists, 'abort', list('aborted'));
    await plant.kafka.transact(TOPICS.workOrderLists, 'commit', list('committed'));
    await plant.sandbox.listBecomes('M-002', ['committed']);
    const calls = await plant.sandbox.calls('setWorkOrderList');
    expect(JSON.stringify(calls)).not.toContain('"aborted"');
  });
});
