import { realDelayMs } from '#libs/clock';
import { deadLetterTopic, TOPICS } from '#libs/contracts';
import { Answers } from '../support/chaos/answers.js';
import { ChaosPlant } from '../support/chaos/chaos-plant.js';
import { inBrief } from '../support/chaos/in-brief.js';
import { eventually } from '../support/eventually.js';
import { header, type TopicReader } from '../support/topic-reader.js';

const PARTITIONS = 6;
const ROUND = 8;
const ROUND_MS = 50;
/** The maximum number of new dead letters before the next kill. */
const DEAD_LETTERS_BEFORE_KILL = [60, 300, 30];
const DEAD_LETTERS = deadLetterTopic(TOPICS.workOrderLists);

describe('the bridge killed again and again while it rejects messages', () => {
  const sent: string[] = [];
  let plant: ChaosPlant;
  let deadLetters: TopicReader;
  let answers: Answers;

  const idsOfDeadLetters = (): string[] =>
    deadLetters.records.map((deadLetter) => header(deadLetter, 'message-id') ?? '');

  /** Sends malformed messages until the returned function is called. */
  const startLoad = async (): Promise<() => Promise<void>> => {
    const producer = await plant.kafka.steadyProducer();
    const topic = `${plant.kafka.topicPrefix}${TOPICS.workOrderLists}`;
    const over = new AbortController();
    const stream = (async () => {
      while (!over.signal.aborted) {
        const ids = Array.from({ length: ROUND }, (_, index) => `message-${sent.length + index}`);
        await producer.send({
          topic,
          messages: ids.map((id) => ({ key: id, value: '{', headers: { 'message-id': id } })),
        });
        sent.push(...ids);
        await realDelayMs(ROUND_MS);
      }
    })();
    return async () => {
      over.abort();
      await stream;
    };
  };

  beforeAll(async () => {
    plant = await ChaosPlant.open({ machines: 3, partitions: PARTITIONS });
    const { kafka } = plant;
    await kafka.topics.createMissing(PARTITIONS, DEAD_LETTERS);
    deadLetters = await kafka.read(DEAD_LETTERS);
    const stopLoad = await startLoad();
    let bridge = plant.startBridge();
    for (const more of DEAD_LETTERS_BEFORE_KILL) {
      const enough = deadLetters.records.length + more;
      await eventually(`${more} more dead letters`, () => deadLetters.records.length >= enough);
      bridge.kill('SIGKILL');
      await bridge.exitCode();
      bridge = plant.startBridge();
    }
    await bridge.ready();
    await stopLoad();
    answers = new Answers(await kafka.read(TOPICS.commandOutcomes));
    await answers.untilAll(sent);
    await eventually(
      'a dead letter of each message',
      () => new Set(idsOfDeadLetters()).size === sent.length,
    );
  });

  afterAll(() => plant.close());

  it('writes exactly one dead letter per message', async () => {
    const ids = idsOfDeadLetters();
    const again = ids.filter((id, index) => ids.indexOf(id) !== index);
    expect(inBrief(again)).toEqual([]);
    expect(await plant.kafka.topics.count(DEAD_LETTERS)).toBe(sent.length);
  });

  it('gives each message the outcome rejected, and no other', () => {
    expect(answers.unanswered(sent)).toEqual([]);
    expect(answers.contradictions()).toEqual([]);
  });
});
