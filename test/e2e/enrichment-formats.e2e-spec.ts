import { readFile } from 'node:fs/promises';
import { TOPICS } from '#libs/contracts';
import { ErpServer } from '../support/erp-server.js';
import { type Plant, startPlant } from '../support/plant.js';
import { temporaryFile } from '../../libs/config/test/temporary-files.js';
import { header, json, type TopicReader } from '../support/topic-reader.js';

const fixture = (name: string): Promise<Buffer> =>
  readFile(`libs/erp-formats/test/fixtures/${name}.json`);

const D365 = {
  name: 'd365',
  when: { BusinessEventId: 'ProductionOrderReleasedBusinessEvent' },
  orderId: 'ProductionOrderNumber',
  values: { company: 'BusinessEventLegalEntity' },
  version: 'EventId',
  path:
    '/data/ProductionOrderHeaders?cross-company=true&$expand=ProdutionOrderRouteOperations&' +
    "$filter=dataAreaId%20eq%20'{company}'%20and%20ProductionOrderNumber%20eq%20'{orderId}'",
};
const ORACLE = {
  name: 'oracle',
  when: { ce_type: 'work-order.released' },
  orderId: 'WorkOrderNumber',
  path:
    '/fscmRestApi/resources/11.13.18.05/workOrders?expand=WorkOrderOperation&' +
    "q=WorkOrderNumber='{orderId}'",
};
/** The demo's map has M-005 for the work centre DR01, where each order has an open operation. */
const MACHINE = 'M-005';

describe('an event that names an order of another ERP than SAP', () => {
  let erp: ErpServer;
  let plant: Plant;
  let outcomes: TopicReader;

  beforeAll(async () => {
    erp = await ErpServer.start();
    const rules = [D365, ORACLE].map(({ path, ...rule }) => ({ ...rule, url: erp.url + path }));
    const file = temporaryFile('rules.json', rules);
    plant = await startPlant({
      env: {
        ...{ ERP_ENRICHMENT_FILE: file, EQUIPMENT_MAP_FILE: 'demo/equipment-map.json' },
        ...{ ERP_TIME_ZONE: 'Europe/Berlin', BRIDGE_FLOWS: 'work-orders' },
      },
    });
    outcomes = await plant.kafka.read(TOPICS.commandOutcomes);
  });

  afterAll(async () => {
    await plant.close();
    await erp.close();
  });

  it.each([
    {
      of: 'Dynamics 365',
      entity: 'ProductionOrderHeaders',
      answer: 'dynamics-production-order',
      contentType: 'application/json; odata.metadata=minimal; odata.streaming=true',
      orderId: 'P000301',
      event: () => fixture('dynamics-business-event'),
      type: 'production-order.released',
      asks: D365.path.replace('{company}', 'mech'),
    },
    {
      of: 'Oracle Fusion',
      entity: 'workOrders',
      answer: 'oracle-work-orders',
      contentType: 'application/vnd.oracle.adf.resourcecollection+json',
      orderId: '1000-301',
      event: () => Promise.resolve(Buffer.from('{"WorkOrderNumber":"1000-301"}')),
      type: 'work-order.released',
      asks: ORACLE.path,
    },
  ])('puts the order on its machine, from an answer of $of', async (the) => {
    const { entity, answer, contentType, orderId, event, type, asks } = the;
    const asked: string[] = [];
    const document = await fixture(answer);
    erp.faults.set(entity, ({ url = '' }, response) => {
      asked.push(decodeURIComponent(url));
      response.writeHead(200, { 'content-type': contentType }).end(document);
    });
    await plant.kafka.send(TOPICS.workOrders, {
      ...{ key: orderId, value: await event() },
      headers: {
        ...{ ce_specversion: '1.0', ce_id: `event-${orderId}`, ce_source: '/erp', ce_type: type },
        'content-type': 'application/json',
      },
    });
    const outcome = await outcomes.find(`the outcome of ${orderId} on ${MACHINE}`, (record) => {
      const { machineId, orderId: its } = json(record);
      return machineId === MACHINE && its === orderId;
    });
    expect(header(outcome, 'ce_type')).toBe('work-order-list.applied.v1');
    expect(json(outcome)).toMatchObject({ source: { messageId: `event-${orderId}` } });
    expect((await plant.sandbox.machine(MACHINE)).workingOrders).toContain(orderId);
    expect(asked).toEqual([decodeURIComponent(asks.replace('{orderId}', orderId))]);
  });
});
