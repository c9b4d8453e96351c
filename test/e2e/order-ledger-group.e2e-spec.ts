import { TOPICS } from '#libs/contracts';
import { ChaosPlant } from '../support/chaos/chaos-plant.js';
import { type SentOrder, listsOf, orderBody, sentOrder } from '../support/chaos/order-model.js';

const MACHINES = 12;
const ORDERS = 36;

describe('the order ledger, with two processes in a group', () => {
  let plant: ChaosPlant;
  const newest = new Map<string, SentOrder>();

  beforeAll(async () => {
    plant = await ChaosPlant.open({ machines: MACHINES, env: { BRIDGE_FLOWS: 'work-orders' } });
  });

  afterAll(() => plant.close());

  /** Sends each order's next state, and waits until the lists follow. */
  const sendAll = async (state: number): Promise<void> => {
    const { kafka, sandbox, load } = plant;
    const orders = Array.from({ length: ORDERS }, (_, order) => {
      return sentOrder(order, state, load.machineIds);
    });
    const messages = orders.map((order) => {
      return { key: order.orderId, value: JSON.stringify(orderBody(order)) };
    });
    await kafka.send(TOPICS.workOrders, ...messages);
    for (const order of orders) newest.set(order.orderId, order);
    for (const [machineId, list] of listsOf(newest.values(), load.machineIds)) {
      await sandbox.listBecomes(machineId, list);
    }
  };

  it('keeps one ledger, whichever of them owns an order and whichever owns its machine', async () => {
    const first = plant.startBridge();
    await first.ready();
    await sendAll(1);
    const second = plant.startBridge();
    await plant.untilShared(2);
    await second.ready();
    await sendAll(2);
    await sendAll(3);
    first.kill('SIGTERM');
    expect(await first.exitCode()).toBe(0);
    await plant.untilShared(1);
    await sendAll(4);
  }, 120_000);
});
