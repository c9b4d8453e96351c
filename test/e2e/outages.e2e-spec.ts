import { TOPICS } from '#libs/contracts';
import { eventually } from '../support/eventually.js';
import { type Plant, startPlant } from '../support/plant.js';
import { header, type TopicReader } from '../support/topic-reader.js';

describe('a service that fails', () => {
  let plant: Plant;
  let answers: TopicReader;

  beforeAll(async () => {
    plant = await startPlant({ env: { OUTCOME_DEFERRED_AFTER_SECONDS: '1' } });
    answers = await plant.kafka.read(TOPICS.commandOutcomes);
  });

  afterEach(() => plant.sandbox.clearFaults());
  afterAll(() => plant.close());

  const outcomesOf = (machineId: string): (string | undefined)[] =>
    answers.records
      .filter((record) => header(record, 'ce_subject') === machineId)
      .map((record) => header(record, 'ce_type'));

  it('causes one deferred outcome, and an applied one when it is back', async () => {
    await plant.sandbox.addFault({ operation: '*', status: 500 });
    await plant.kafka.sendList('M-002', ['4711']);
    await eventually('the list is deferred', () =>
      outcomesOf('M-002').includes('work-order-list.deferred.v1'),
    );
    await plant.sandbox.clearFaults();
    await plant.sandbox.listBecomes('M-002', ['4711']);
    await eventually('two outcomes', () => outcomesOf('M-002').length === 2);
    expect(outcomesOf('M-002')).toEqual([
      'work-order-list.deferred.v1',
      'work-order-list.applied.v1',
    ]);
  });

  it('causes one deferred outcome even if another bridge takes over', async () => {
    await plant.sandbox.addFault({ operation: '*', status: 500 });
    const deferred = 'work-order-list.deferred.v1';
    await plant.kafka.sendList('M-003', ['4712']);
    await eventually('it is deferred', () => outcomesOf('M-003').includes(deferred));
    await plant.restartBridge({}, { untilReady: false });
    await plant.kafka.sendList('M-005', ['4713']);
    await eventually('a later one as well', () => outcomesOf('M-005').includes(deferred));
    await plant.sandbox.clearFaults();
    await plant.sandbox.listBecomes('M-003', ['4712']);
    for (const machineId of ['M-003', 'M-005']) {
      await eventually(`the list of ${machineId} is applied`, () =>
        outcomesOf(machineId).includes('work-order-list.applied.v1'),
      );
    }
    expect(outcomesOf('M-003')).toEqual([deferred, 'work-order-list.applied.v1']);
  });

  it('does not distort the reported lag, even while the bridge fetches nothing', async () => {
    const isLag = new RegExp(`input_lag_messages\\{.*${TOPICS.downtimeReasons}`);
    const lag = async (): Promise<number> => {
      const metrics = await (await fetch(`${plant.bridgeUrl}/metrics`)).text();
      const lines = metrics.split('\n').filter((line) => isLag.test(line));
      return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
    };
    const reason = { machineId: 'M-006', reasonId: '22', startTime: 1_763_680_000 };
    const send = (count: number): Promise<void> => {
      const message = { key: 'M-006', value: JSON.stringify(reason) };
      return plant.kafka.send(
        TOPICS.downtimeReasons,
        ...new Array<typeof message>(count).fill(message),
      );
    };
    await plant.sandbox.addFault({ operation: '*', status: 503 });
    await send(4000);
    await eventually('a lag of 4000', async () => (await lag()) === 4000);
    await send(1000);
    await eventually('a lag of 5000', async () => (await lag()) === 5000);
  });
});
