import { loadKafkaSettings } from '#libs/config';
import { TOPICS } from '#libs/contracts';
import { createKafka, partitionOf, readSpans, type StoredRecord, topicSpans } from '#libs/kafka';
import { eventually } from '../support/eventually.js';
import { testBrokers } from '../support/kafka.js';
import { type Plant, startPlant } from '../support/plant.js';
import { header, json, type ReadRecord } from '../support/topic-reader.js';

const CHANGES = 'machine-bridge.assignment-changes.v1';
const SET_LIST = 'setWorkOrderList';

function sendOrder(
  { kafka }: Plant,
  orderId: string,
  machineId: string,
  changedAt = 100,
): Promise<void> {
  const operations = [{ operationId: '0010', machineId }];
  const order = { orderId, changedAt, status: 'released', operations };
  return kafka.sendJson(TOPICS.workOrders, orderId, order);
}

const machineOf = (record: ReadRecord): unknown => json(record)['machineId'];
const isChange = ({ value }: ReadRecord): boolean => value !== null;
const keyOf = ({ key }: ReadRecord): string | undefined => key?.toString();

describe('changes of assignments', () => {
  let plant: Plant;

  beforeAll(async () => {
    plant = await startPlant();
  });

  afterAll(() => plant.close());

  it('are in the partition of their machine, each record under its own key', async () => {
    const changes = await plant.kafka.read(CHANGES);
    // a final change may be deleted before the test reads it
    await plant.sandbox.addFault({ operation: SET_LIST, status: 503 });
    await sendOrder(plant, 'A', 'M-001');
    await sendOrder(plant, 'B', 'M-002');
    await sendOrder(plant, 'B', 'M-002', 101);
    const written = await changes.findAtLeast(3, 'change', isChange);
    await plant.sandbox.clearFaults();
    expect(new Set(written.map(keyOf)).size).toBe(3);
    for (const record of written) {
      expect(record.partition).toBe(partitionOf(String(machineOf(record)), 3));
    }
  });

  it('become dead letters, without details of calls, if an earlier version wrote them', async () => {
    const deadLetters = await plant.kafka.read(`${CHANGES}.dlq`);
    const operations = [{ entry: 'C', operationId: '0010' }];
    const source = { topic: TOPICS.workOrders, partition: 0, offset: 0, messageId: null };
    const change = { machineId: 'M-003', orders: [{ orderId: 'C', operations }], source };
    await plant.kafka.sendJson(CHANGES, 'M-003/0/0/1', { changes: [change] });
    const deadLetter = await deadLetters.find('its dead letter', () => true);
    const detail = 'the bridge could not handle this message; its log says why';
    expect(header(deadLetter, 'dlq-detail')).toBe(detail);
    expect(json(deadLetter)).toEqual({ changes: [change] });
    await sendOrder(plant, 'D', 'M-003');
    await plant.sandbox.listBecomes('M-003', ['D']);
  });
});

describe('the topic of changes', () => {
  let plant: Plant;

  afterEach(() => plant.close());

  it('loses committed changes, and keeps those that are not final', async () => {
    plant = await startPlant();
    await sendOrder(plant, 'A', 'M-001');
    await plant.sandbox.listBecomes('M-001', ['A']);
    await plant.sandbox.addFault({ operation: SET_LIST, machineId: 'M-002', status: 503 });
    await sendOrder(plant, 'B', 'M-002');
    const left = () => machinesWithChange('B');
    await eventually('one change is left', async () => (await left()).join() === 'M-002');
    await plant.restartBridge();
    await plant.sandbox.clearFaults();
    await plant.sandbox.listBecomes('M-002', ['B']);
  });

  it('may have the cleanup policy delete, as in earlier versions', async () => {
    plant = await startPlant({ prepare: (kafka) => kafka.topics.createMissing(3, CHANGES) });
    await sendOrder(plant, 'A', 'M-001');
    await plant.sandbox.listBecomes('M-001', ['A']);
  });

  /** Uses the bridge's own reader: kafkajs would fetch a batch that compaction has emptied for ever. */
  const readChanges = async (): Promise<StoredRecord[]> => {
    const kafka = createKafka(loadKafkaSettings({ KAFKA_BROKERS: testBrokers().join(',') }));
    const { topicPrefix } = plant.kafka;
    const read: StoredRecord[] = [];
    await readSpans(kafka, await topicSpans(kafka, `${topicPrefix}${CHANGES}`), {
      signal: new AbortController().signal,
      onRecords: (records) => {
        read.push(...records.filter(({ value }) => value !== null));
      },
    });
    return read;
  };

  /** Waits for the change of this order; returns the machines with changes, in the order of the log. */
  const machinesWithChange = async (orderId: string): Promise<unknown[]> => {
    let changes: Record<string, unknown>[] = [];
    await eventually(`the change of order ${orderId} is there`, async () => {
      const texts = (await readChanges()).map(({ value }) => value?.toString() ?? '');
      changes = texts.map((text) => JSON.parse(text) as Record<string, unknown>);
      return texts.some((text) => text.includes(`"orderId":"${orderId}"`));
    });
    return changes.map(({ machineId }) => machineId);
  };

  it('keeps changes that are not final through compaction, and is read across its gaps', async () => {
    plant = await startPlant({
      prepare: (kafka) =>
        kafka.topics.createCompacted(CHANGES, {
          ...{ 'segment.ms': '200', 'min.cleanable.dirty.ratio': '0.001' },
          ...{ 'delete.retention.ms': '1', 'max.compaction.lag.ms': '1' },
        }),
    });
    for (const machineId of ['M-001', 'M-003']) {
      await plant.sandbox.addFault({ operation: SET_LIST, machineId, status: 503 });
    }
    await sendOrder(plant, 'A', 'M-001');
    await machinesWithChange('A');
    await sendOrder(plant, 'B', 'M-002');
    let held: unknown[] = [];
    let round = 0;
    await eventually('what is final is gone', async () => {
      // Another change at the end of the log, which is never compacted.
      const orderId = `C-${(round += 1)}`;
      await sendOrder(plant, orderId, 'M-003');
      held = await machinesWithChange(orderId);
      return !held.includes('M-002');
    });
    expect(held[0]).toBe('M-001');
    await plant.restartBridge();
    await plant.sandbox.clearFaults();
    await sendOrder(plant, 'D', 'M-004');
    await plant.sandbox.listBecomes('M-001', ['A']);
    await plant.sandbox.listBecomes('M-004', ['D']);
  });
});
