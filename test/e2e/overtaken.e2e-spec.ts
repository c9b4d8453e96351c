import { TOPICS } from '#libs/contracts';
import { eventually } from '../support/eventually.js';
import { outcomesByMessage } from '../support/outcomes-by-message.js';
import { type Plant, startPlant } from '../support/plant.js';
import type { TopicReader } from '../support/topic-reader.js';

const OTHERS = 300;
/** Of the failing machine, before each message of another. */
const WAITING_EACH = 19;

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

  it('holds up no other of its partition, while thousands of its messages wait, and after a restart', async () => {
    const { sandbox, kafka } = plant;
    const operation = 'setMachineClassification';
    await sandbox.addFault({ operation, machineId: 'M-001', status: 503 });
    const startTime = plant.clock.nowSeconds() - 7200;
    const message = (machineId: string, id: string) => ({
      key: machineId,
      value: JSON.stringify({ machineId, reasonId: '15', startTime }),
      headers: { 'message-id': id },
    });
    for (let other = 0; other < OTHERS; other += 1) {
      const waiting = Array.from({ length: WAITING_EACH }, (_, index) =>
        message('M-001', `${other}-${index}`),
      );
      await kafka.send(
        TOPICS.downtimeReasons,
        ...waiting,
        message(`M-00${2 + (other % 4)}`, `other-${other}`),
      );
    }
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
