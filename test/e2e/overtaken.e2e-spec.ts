import { TOPICS } from '#libs/contracts';
import { eventually } from '../support/eventually.js';
import { outcomesByMessage } from '../support/outcomes-by-message.js';
import { type Plant, startPlant } from '../support/plant.js';
import type { TopicReader } from '../support/topic-reader.js';

const OTHERS = 300;
/** Messages of the failing machine before each message of another. */
const WAITING_EACH = 19;
/** Such turns per produce request. */
const A_REQUEST = 10;

describe('a machine whose calls keep failing', () => {
  let plant: Plant;
  let outcomes: TopicReader;

  beforeAll(async () => {
    plant = await startPlant({ env: { KAFKA_TOPIC_PARTITIONS: '1' } });
    outcomes = await plant.kafka.read(TOPICS.commandOutcomes);
  });

  afterAll(() => plant.close());

  const ofOthers = (): string[] =>
    Object.entries(outcomesByMessage(outcomes)).flatMap(([id, each]) =>
      id.startsWith('other') ? each.map((outcome) => `${id} ${outcome}`) : [],
    );

  it('delays no other of its partition while thousands of its messages wait, even after a restart', async () => {
    const { sandbox, kafka } = plant;
    const operation = 'setMachineClassification';
    await sandbox.addFault({ operation, machineId: 'M-001', status: 503 });
    const startTime = plant.clock.nowSeconds() - 7200;
    const message = (machineId: string, id: string) => ({
      key: machineId,
      value: JSON.stringify({ machineId, reasonId: '15', startTime }),
      headers: { 'message-id': id },
    });
    const inTurns = Array.from({ length: OTHERS }, (_, other) => [
      ...Array.from({ length: WAITING_EACH }, (__, index) => message('M-001', `${other}-${index}`)),
      message(`M-00${2 + (other % 4)}`, `other-${other}`),
    ]);
    while (inTurns.length > 0)
      await kafka.send(TOPICS.downtimeReasons, ...inTurns.splice(0, A_REQUEST).flat());
    await eventually(
      'the outcomes of the others are published',
      () => ofOthers().length === OTHERS,
    );

    await plant.restartBridge();
    await kafka.send(TOPICS.downtimeReasons, message('M-002', 'other-later'));
    await eventually('the outcome after the restart is published', () =>
      ofOthers().includes('other-later M-002 applied'),
    );
    expect(ofOthers()).toHaveLength(OTHERS + 1);
  });
});
