import { TOPICS } from '#libs/contracts';
import { ChaosPlant } from '../support/chaos/chaos-plant.js';
import { answering, ErpServer } from '../support/erp-server.js';
import { eventually } from '../support/eventually.js';
import { temporaryFile } from '../../libs/config/test/temporary-files.js';
import { header, isOutcomeOf, type ReadRecord, type TopicReader } from '../support/topic-reader.js';

const TOKEN = 'token-of-the-dead-erp';
const PASSWORD = 'password-of-the-erp';
/** More than may be unfinished in a partition, so that orders of another ERP wait behind them. */
const THIN_EVENTS = 6000;

describe('orders that several processes request from ERPs', () => {
  let erp: ErpServer;
  let dead: ErpServer;
  let plant: ChaosPlant;
  let answers: TopicReader;

  beforeEach(async () => {
    erp = await ErpServer.start();
    dead = await ErpServer.start();
    dead.faults.set('*', answering(503));
    const rule = (name: string, { url }: ErpServer, auth: object): object => ({
      ...{ name, when: { erp: name }, orderId: 'order', url: `${url}/orders/{orderId}`, auth },
    });
    const basic = { kind: 'basic', username: 'bridge', password: { env: 'ERP_PASSWORD' } };
    const bearer = { kind: 'bearer', token: { env: 'DEAD_ERP_TOKEN' } };
    const rules = [rule('one', erp, basic), rule('dead', dead, bearer)];
    const file = temporaryFile('rules.json', rules);
    plant = await ChaosPlant.open({
      ...{ machines: 12, partitions: 1 },
      env: {
        ...{ ERP_ENRICHMENT_FILE: file, ERP_PASSWORD: PASSWORD, DEAD_ERP_TOKEN: TOKEN },
        ...{ BRIDGE_FLOWS: 'work-orders', LOG_LEVEL: 'debug' },
      },
    });
    answers = await plant.kafka.read(TOPICS.commandOutcomes);
  });

  afterEach(async () => {
    // fails if the output of a process contains one of the secrets
    await plant.close();
    await Promise.all([erp.close(), dead.close()]);
  });

  const eventOf = (name: string, order: string) => ({
    ...{ key: order, value: JSON.stringify({ erp: name, order }) },
    headers: { 'message-id': `${name} ${order}` },
  });
  const outcomesOf = (id: string): ReadRecord[] =>
    answers.records.filter(
      (record) =>
        isOutcomeOf(record, id) && header(record, 'ce_type') !== 'work-order-list.deferred.v1',
    );
  const answered = (id: string): Promise<ReadRecord[]> =>
    eventually(`an outcome of ${id}`, () =>
      outcomesOf(id).length > 0 ? outcomesOf(id) : undefined,
    );

  it('delay nothing else while one ERP is down', async () => {
    const bridge = plant.startBridge();
    await bridge.url();
    const machineIds = plant.load.machineIds;
    const thin = Array.from({ length: THIN_EVENTS }, (_, order) => eventOf('dead', `d${order}`));
    for (let first = 0; first < thin.length; first += 1000) {
      await plant.kafka.send(TOPICS.workOrders, ...thin.slice(first, first + 1000));
    }
    const [machine = ''] = machineIds;
    const operations = [{ operationId: '0010', machineId: machine }];
    const whole = { orderId: 'W', changedAt: 100, status: 'released', operations };
    await plant.kafka.sendJson(TOPICS.workOrders, 'W', whole, { 'message-id': 'whole' });
    await plant.sandbox.listBecomes(machine, ['W']);
    const other = machineIds[1] ?? '';
    erp.orders.set('B', { machineId: other });
    await plant.kafka.send(TOPICS.workOrders, eventOf('one', 'B'));
    await answered('one B');
    await plant.sandbox.listBecomes(other, ['B']);
    expect(bridge.output).not.toContain(Buffer.from(`bridge:${PASSWORD}`).toString('base64'));
  });

  it('are requested again by another process when one is killed during a GET', async () => {
    const first = plant.startBridge();
    await first.ready();
    const [machine = ''] = plant.load.machineIds;
    let isAsked = false;
    erp.faults.set('K', () => {
      isAsked = true;
    });
    await plant.kafka.send(TOPICS.workOrders, eventOf('one', 'K'));
    await eventually('the first process asks', () => isAsked);
    first.kill('SIGKILL');
    await first.exitCode();
    plant.startBridge();
    erp.faults.clear();
    erp.orders.set('K', { machineId: machine });
    expect(await answered('one K')).toHaveLength(1);
    await plant.sandbox.listBecomes(machine, ['K']);
    expect(erp.askedFor('K')).toBe(2);
  });

  it('end in the state of the ERP although a second process joins and one is killed', async () => {
    const first = plant.startBridge();
    await first.ready();
    const { machineIds } = plant.load;
    const orders = Array.from({ length: 40 }, (_, order) => `O${order}`);
    const machineOf = (order: number, state: number): string =>
      machineIds[(order * 5 + state) % machineIds.length] ?? '';
    const change = async (state: number): Promise<void> => {
      orders.forEach((id, order) => erp.orders.set(id, { machineId: machineOf(order, state) }));
      const events = orders.map((id) => eventOf('one', id));
      await plant.kafka.send(TOPICS.workOrders, ...events);
    };
    await change(0);
    const second = plant.startBridge();
    await change(1);
    await second.ready();
    await change(2);
    first.kill('SIGKILL');
    await first.exitCode();
    await change(3);
    for (const machineId of machineIds) {
      const its = orders.filter((_, order) => machineOf(order, 3) === machineId).sort();
      await eventually(`the list of ${machineId} is as the ERP has it`, async () => {
        const { workingOrders } = await plant.sandbox.machine(machineId);
        return JSON.stringify([...workingOrders].sort()) === JSON.stringify(its);
      });
    }
  });
});
