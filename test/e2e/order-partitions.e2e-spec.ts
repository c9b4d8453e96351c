import { TOPICS } from '#libs/contracts';
import { eventually } from '../support/eventually.js';
import { type Plant, startPlant } from '../support/plant.js';
import { header, isOutcomeOf, json, type TopicReader } from '../support/topic-reader.js';

const DEAD_LETTERS = `${TOPICS.workOrders}.dlq`;
const QUEUES = ['relayed-orders', 'order-refusals', 'assignment-changes'].map(
  (name) => `machine-bridge.${name}.v1`,
);
const ORDERS = ['A', 'B', 'C', 'D', 'E', 'F'];

/** SAP's document of several orders, each with one operation. */
function loipro(serial: number, machineOf: (index: number) => string): string {
  const orders = ORDERS.map(
    (orderId, index) =>
      `<IDOC><EDI_DC40><SERIAL>20231128083400${serial}</SERIAL></EDI_DC40><E1AFKOL><AUFNR>${orderId}</AUFNR>` +
      '<WERKS>1000</WERKS><E1JSTKL><STAT>I0002</STAT></E1JSTKL><E1AFFLL><PLNFL>0</PLNFL>' +
      `<E1AFVOL><VORNR>0010</VORNR><ARBPL>${machineOf(index)}</ARBPL></E1AFVOL></E1AFFLL></E1AFKOL></IDOC>`,
  );
  return `<LOIPRO01>${orders.join('')}</LOIPRO01>`;
}

describe('orders in any partition', () => {
  let plant: Plant;
  let answers: TopicReader;

  beforeAll(async () => {
    plant = await startPlant();
    answers = await plant.kafka.read(TOPICS.commandOutcomes, DEAD_LETTERS);
  });

  afterAll(() => plant.close());

  /** Sends one document with all orders, each on its machine. */
  const send = (
    id: string,
    partition: number,
    serial: number,
    machineOf: (index: number) => string,
  ): Promise<void> =>
    plant.kafka.send(TOPICS.workOrders, {
      partition,
      value: loipro(serial, machineOf),
      headers: { 'message-id': id, 'content-type': 'application/xml' },
    });

  const answersTo = (id: string): string[] =>
    answers.records
      .filter((record) => isOutcomeOf(record, id))
      .map((record) => {
        const { orderId, machineId } = json(record);
        return `${header(record, 'ce_type')?.split('.')[1]} ${String(orderId)} ${String(machineId)}`;
      })
      .sort();

  const untilAnswered = async (id: string, expected: readonly string[]): Promise<void> => {
    await eventually(`answers to ${id}`, () => answersTo(id).length >= expected.length);
    expect(answersTo(id)).toEqual(expected);
  };

  it('leave no machine with an old list, and get an outcome for each of their machines', async () => {
    await send('first', 0, 100_000, (index) => `M-00${(index % 2) + 1}`);
    await plant.sandbox.listBecomes('M-001', ['A', 'C', 'E']);
    await plant.sandbox.listBecomes('M-002', ['B', 'D', 'F']);
    await untilAnswered(
      'first',
      ORDERS.map((id, index) => `applied ${id} M-00${(index % 2) + 1}`),
    );
    await send('second', 2, 100_001, (index) => (index < 5 ? 'M-003' : 'M-001'));
    await plant.sandbox.listBecomes('M-001', ['F']);
    await plant.sandbox.listBecomes('M-002', []);
    await plant.sandbox.listBecomes('M-003', ['A', 'B', 'C', 'D', 'E']);
    // each on its former and its present machine
    await untilAnswered('second', [
      ...['applied A M-001', 'applied A M-003', 'applied B M-002', 'applied B M-003'],
      ...['applied C M-001', 'applied C M-003', 'applied D M-002', 'applied D M-003'],
      ...['applied E M-001', 'applied E M-003', 'applied F M-001', 'applied F M-002'],
    ]);
  });

  it('are known after a restart, and supersede older documents in any partition', async () => {
    await plant.restartBridge();
    await send('late', 1, 100_000, () => 'M-002');
    await untilAnswered(
      'late',
      ORDERS.map((id) => `superseded ${id} M-002`),
    );
    await plant.sandbox.listBecomes('M-003', ['A', 'B', 'C', 'D', 'E']);
  });

  it('are rejected once per document, for the machines that do not exist', async () => {
    await send('nowhere', 1, 100_002, (index) => (index < 4 ? `X-${index % 2}` : 'M-004'));
    await plant.sandbox.listBecomes('M-004', ['E', 'F']);
    const deadLetters = await answers.findAtLeast(
      1,
      'a dead letter',
      ({ topic }) => topic === DEAD_LETTERS,
    );
    expect(deadLetters.map((deadLetter) => header(deadLetter, 'dlq-machine-ids'))).toEqual([
      'X-0,X-1',
    ]);
    await untilAnswered('nowhere', [
      ...['applied A M-003', 'applied B M-003', 'applied C M-003', 'applied D M-003'],
      ...['applied E M-003', 'applied E M-004', 'applied F M-001', 'applied F M-004'],
      ...['rejected A X-0', 'rejected B X-1', 'rejected C X-0', 'rejected D X-1'],
    ]);
  });

  it('are known after their topic has grown', async () => {
    await plant.kafka.topics.growToPartitions(TOPICS.workOrders, 6);
    await plant.restartBridge();
    await send('wide', 5, 100_003, () => 'M-005');
    await plant.sandbox.listBecomes('M-005', ORDERS);
    await plant.sandbox.listBecomes('M-004', []);
    await untilAnswered(
      'wide',
      [...ORDERS.map((id) => `applied ${id} M-005`), 'applied E M-004', 'applied F M-004'].sort(),
    );
  });

  it('are rejected in new partitions while the bridge runs', async () => {
    await plant.kafka.topics.growToPartitions(TOPICS.workOrders, 7);
    await plant.sandbox.addFault({
      operation: 'setWorkOrderList',
      status: 422,
      machineId: 'M-006',
    });
    await send('wider', 6, 100_004, () => 'M-006');
    await untilAnswered(
      'wider',
      [
        ...ORDERS.map((id) => `applied ${id} M-005`),
        ...ORDERS.map((id) => `rejected ${id} M-006`),
      ].sort(),
    );
    await plant.sandbox.clearFaults();
  });

  it('leave nothing uncommitted', async () => {
    const { kafka, groupId } = plant;
    for (const topic of [TOPICS.workOrders, ...QUEUES]) {
      await kafka.groups.untilAllCommitted(groupId, topic);
    }
    expect(await kafka.topics.count(DEAD_LETTERS)).toBe(2);
  });
});
