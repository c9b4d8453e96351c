import { deadLetterTopic, TOPICS } from '#libs/contracts';
import { Answers } from '../support/chaos/answers.js';
import { ChaosPlant } from '../support/chaos/chaos-plant.js';
import { untilReady, untilUnreadyBecause } from '../support/health.js';
import { eventually } from '../support/eventually.js';
import { header } from '../support/topic-reader.js';

const PARTITIONS = 3;
const MACHINES = 12;
const DEAD_LETTERS = deadLetterTopic(TOPICS.downtimeReasons);
/** The partition of the malformed reason. */
const BAD = { partition: 1, messageId: 'malformed' };

describe.each(['made again', 'made again by a new process, the old one killed'] as const)(
  'a dead-letter topic that is deleted and then %s',
  (how) => {
    let plant: ChaosPlant;
    let answers: Answers;
    let sent: string[];
    let url: string;

    const idsOf = (what: string): string[] =>
      plant.load.machineIds.map((machineId) => `${what} ${machineId}`);

    /** Sends one command per machine, over all partitions. */
    const send = async (topic: string, what: string, command: object): Promise<void> => {
      const messages = plant.load.machineIds.map((machineId, index) => ({
        key: machineId,
        partition: index % PARTITIONS,
        value: JSON.stringify({ machineId, ...command }),
        headers: { 'message-id': `${what} ${machineId}` },
      }));
      await plant.kafka.send(topic, ...messages);
    };

    const untilCommitted = (topic: string, isSo: (left: Map<number, number>) => boolean) =>
      eventually(`the commits of ${topic}`, async () => {
        const committed = await plant.kafka.groups.committedOffsets(plant.groupId, topic);
        return isSo(committed);
      });

    const unwritable = async (): Promise<string[]> => {
      const metrics = await (await fetch(`${url}/metrics`)).text();
      const found = metrics.matchAll(/^machine_bridge_topic_unwritable\{topic="([^"]+)"\} 1$/gm);
      return [...found].map(([, topic]) => topic!);
    };

    beforeAll(async () => {
      plant = await ChaosPlant.open({ machines: MACHINES, partitions: PARTITIONS });
      const { kafka } = plant;
      const bridge = plant.startBridge();
      url = await bridge.ready();
      await kafka.topics.deleteTopic(DEAD_LETTERS);
      answers = new Answers(await kafka.read(TOPICS.commandOutcomes));
      const { messageId, partition } = BAD;
      await kafka.send(TOPICS.downtimeReasons, {
        ...{ key: 'M-001', partition, value: '{', headers: { 'message-id': messageId } },
      });
      await send(TOPICS.workOrderLists, 'list', { workingOrders: ['4711'] });
      const times = { startTime: 1_760_000_000, endTime: 1_760_000_600 };
      await send(TOPICS.downtimeReasons, 'reason', { reasonId: '11', ...times });
      sent = [...idsOf('list'), ...idsOf('reason')];
    });

    afterAll(() => plant.close());

    it('stops only the partition that needs it, which drains once it exists', async () => {
      const { kafka } = plant;
      await answers.untilAll(sent);
      const perPartition = MACHINES / PARTITIONS;
      await untilCommitted(TOPICS.workOrderLists, (committed) =>
        [0, 1, 2].every((partition) => committed.get(partition) === perPartition),
      );
      await untilCommitted(TOPICS.downtimeReasons, (committed) =>
        [0, 2].every((partition) => committed.get(partition) === perPartition),
      );
      const gone = `${kafka.topicPrefix}${DEAD_LETTERS}`;
      expect(await untilUnreadyBecause(url, gone)).not.toContain(TOPICS.commandOutcomes);
      expect(await unwritable()).toEqual([gone]);
      expect(answers.unanswered([BAD.messageId])).toEqual([BAD.messageId]);

      if (how === 'made again') await kafka.topics.createMissing(PARTITIONS, DEAD_LETTERS);
      else {
        plant.killBridge();
        url = await plant.startBridge().ready();
      }

      await answers.untilAll([BAD.messageId]);
      await untilReady(url);
      await untilCommitted(
        TOPICS.downtimeReasons,
        (committed) => committed.get(BAD.partition) === perPartition + 1,
      );
      const deadLetters = await kafka.read(DEAD_LETTERS);
      const deadLetter = await deadLetters.find('the dead letter', () => true);
      expect(header(deadLetter, 'message-id')).toBe(BAD.messageId);
      expect(await kafka.topics.count(DEAD_LETTERS)).toBe(1);
      expect(await unwritable()).toEqual([]);
      expect(answers.repetitions()).toEqual([]);
      for (const operation of ['setMachineClassification', 'setWorkOrderList']) {
        const calls = await plant.sandbox.calls(operation);
        expect(calls.flatMap(({ machineIds }) => machineIds)).toHaveLength(MACHINES);
      }
    });
  },
);
