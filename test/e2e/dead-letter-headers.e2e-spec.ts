import { loadKafkaSettings } from '#libs/config';
import { type MessageHeaders, TOPICS } from '#libs/contracts';
import { createKafka, IdempotentProducer } from '#libs/kafka';
import { AppProcess } from '../support/app-process.js';
import { bridgeEnvironment } from '../support/bridge-environment.js';
import { type PrintedRecord, readAsForeigner } from '../support/foreign-client.js';
import { testBrokers, TestKafka, uniqueTopicPrefix } from '../support/kafka.js';
import { runCommand } from '../support/run-command.js';
import { type RunningSandbox, startSandbox } from '../support/running-sandbox.js';

const REASONS = TOPICS.downtimeReasons;
const DEAD_LETTERS = `${REASONS}.dlq`;

/** A map by name would lose all of this: the order of names and values, and headers without a value. */
const HEADERS = [
  ['trace', '1'],
  ['10', null],
  ['9', ''],
  ['trace', '2'],
  ['message-id', 'm-1'],
  ['trace', null],
  ['constructor', 'x'],
] as const satisfies MessageHeaders;

describe('the headers of a rejected and replayed message', () => {
  const topicPrefix = uniqueTopicPrefix();
  const kafka = new TestKafka(testBrokers(), topicPrefix);
  let sandbox: RunningSandbox;
  let bridge: AppProcess;

  const send = async (): Promise<void> => {
    const client = createKafka(loadKafkaSettings({ KAFKA_BROKERS: testBrokers().join(',') }));
    const producer = new IdempotentProducer(client);
    await producer.sendRecord({
      topic: `${topicPrefix}${REASONS}`,
      key: 'M',
      value: '{',
      headers: HEADERS,
    });
    await producer.closeProducer();
  };

  beforeAll(async () => {
    sandbox = await startSandbox();
    await kafka.topics.createMissing(1, REASONS, DEAD_LETTERS);
    await send();
    bridge = new AppProcess('bridge', {
      ...bridgeEnvironment({ topicPrefix, sandboxUrl: sandbox.control.url }),
      BRIDGE_FLOWS: 'downtime-reasons',
    });
    const deadLetters = await kafka.read(DEAD_LETTERS);
    await deadLetters.find('the dead letter', () => true);
  });

  afterAll(async () => {
    await bridge.close();
    await kafka.close();
    await sandbox.close();
  });

  const read = (topic: string, records: number): Promise<PrintedRecord[]> => {
    const [brokers, isolation] = [testBrokers(), 'read_committed'] as const;
    return readAsForeigner({ brokers, topic: `${topicPrefix}${topic}`, isolation, records });
  };

  it('are unchanged in the dead letter, before those of the bridge', async () => {
    const [deadLetter] = await read(DEAD_LETTERS, 1);
    expect(deadLetter?.headers.slice(0, HEADERS.length)).toEqual(HEADERS);
    expect(deadLetter?.headers[HEADERS.length]).toEqual(['dlq-code', 'invalid-json']);
  });

  it('are shown one by one, including one without a value', async () => {
    const { stdout } = await runCommand(['dlq', 'show', REASONS], { topicPrefix });
    const shown = stdout.split('\n').filter((line) => line.startsWith('  header'));
    expect(shown.map((line) => line.slice('  header    '.length))).toEqual(
      HEADERS.map(([name, value]) => `${name}: ${value ?? '(null)'}`),
    );
  });

  it('are unchanged in the replayed message, before those of the replay', async () => {
    const replay = ['dlq', 'replay', REASONS, '--all', '--yes', '--by', 'jo'];
    await runCommand(replay, { topicPrefix });
    const [sent, replayed] = await read(REASONS, 2);
    expect(sent?.headers).toEqual(HEADERS);
    const ofReplay = [
      ['dlq-replay-count', '1'],
      ['dlq-replayed-by', 'jo'],
    ];
    expect(replayed?.headers).toEqual([...HEADERS, ...ofReplay]);
  });
});
