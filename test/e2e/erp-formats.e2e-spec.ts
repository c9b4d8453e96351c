import { readFile } from 'node:fs/promises';
import { TOPICS } from '#libs/contracts';
import { eventually } from '../support/eventually.js';
import { type Plant, startPlant } from '../support/plant.js';
import { header, type TopicReader } from '../support/topic-reader.js';

const fixture = (name: string): Promise<Buffer> =>
  readFile(`libs/erp-formats/test/fixtures/${name}.json`);

/** Both of its orders of a fixture have it for the work centre DR01, or FR02, which the demo's map knows. */
const DOCUMENTS = [
  ['SAP OData V4', 'sap-odata-v4-production-order', 'M-005', '1000301'],
  ['Dynamics 365', 'dynamics-production-order', 'M-005', 'P000301'],
  ['OPC UA job orders', 'opc-job-order-store-and-start', 'M-004', 'J-301'],
  ['Odoo', 'odoo-production', 'M-003', 'WH/MO/00301'],
  ['Oracle Fusion', 'oracle-work-orders', 'M-005', '1000-301'],
  ['ERPNext', 'erpnext-work-order', 'M-005', 'MFG-WO-2024-00301'],
] as const;

describe('a document of an ERP, as a record on Kafka', () => {
  let plant: Plant;
  let deadLetters: TopicReader;

  beforeAll(async () => {
    plant = await startPlant({ env: { EQUIPMENT_MAP_FILE: 'demo/equipment-map.json' } });
    deadLetters = await plant.kafka.read(`${TOPICS.workOrders}.dlq`);
  });

  afterAll(async () => {
    await plant.close();
  });

  it.each(DOCUMENTS)(
    'sets the list of the mapped machine: %s',
    async (_format, name, machineId, orderId) => {
      await plant.kafka.send(TOPICS.workOrders, { key: orderId, value: await fixture(name) });
      await eventually(
        async () => (await plant.sandbox.machine(machineId)).workingOrders.includes(orderId),
        { what: `${orderId} is on the list of ${machineId}` },
      );
    },
  );

  it('releases a work order of Odoo that its webhook sends', async () => {
    const value = JSON.parse((await fixture('odoo-workorder-webhook')).toString()) as object;
    await plant.kafka.send(TOPICS.workOrders, {
      key: 'WH/MO/00301',
      value: JSON.stringify({ ...value, workcenter_id: [5, 'DR01'] }),
    });
    await eventually(
      async () => (await plant.sandbox.machine('M-005')).workingOrders.includes('WH/MO/00301'),
      { what: 'the work order is on the list of M-005' },
    );
  });

  it('that only names an order becomes a dead letter, which says what is missing', async () => {
    const value = await fixture('dynamics-business-event');
    await plant.kafka.send(TOPICS.workOrders, { key: 'P000301', value });
    const deadLetter = await deadLetters.find(
      (record) => record.key?.toString() === 'P000301',
      'the dead letter of the event',
    );
    expect(header(deadLetter, 'dlq-code')).toBe('invalid-message');
    expect(header(deadLetter, 'dlq-detail')).toBe(
      'Dynamics 365 production orders: the document only names an order: ' +
        'ProductionOrderStatus and ProdutionOrderRouteOperations are missing',
    );
  });
});
