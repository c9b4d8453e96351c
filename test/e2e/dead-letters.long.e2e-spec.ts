import { hostname, userInfo } from 'node:os';
import { realNowMs } from '#libs/clock';
import { loadKafkaSettings } from '#libs/config';
import { TOPICS } from '#libs/contracts';
import { createKafka, ensureTopics } from '#libs/kafka';
import { eventually } from '../support/eventually.js';
import { testBrokers, TestKafka, uniqueTopicPrefix } from '../support/kafka.js';
import { KafkaRelay } from '../support/kafka-relay.js';
import { type Plant, startPlant } from '../support/plant.js';
import {
  type CommandResult,
  jsonLines,
  runCommand,
  RunningCommand,
} from '../support/run-command.js';
import type { ReadRecord, TopicReader } from '../support/topic-reader.js';

const LISTS = TOPICS.workOrderLists;
const REASONS = TOPICS.downtimeReasons;
const RELAYED = 'machine-bridge.relayed-orders.v1';

/** Bytes that are neither JSON nor UTF-8 and would clear a terminal. */
const BINARY = Buffer.concat([Buffer.from([0xff, 0x00]), Buffer.from('\u001b[2J')]);
const BINARY_HEADERS = {
  empty: '',
  several: ['one', 'two'],
  bytes: Buffer.from([0xfe, 0x01]),
};

interface ListedDeadLetter {
  topic: string;
  partition: number;
  offset: number;
  code: string;
  machineIds: string[];
  replayedAt: number | null;
}

describe('npm run dlq', () => {
  let plant: Plant;
  let inputs: TopicReader;
  let deadLetters: TopicReader;

  beforeAll(async () => {
    plant = await startPlant();
    inputs = await plant.kafka.read(LISTS, REASONS);
    deadLetters = await plant.kafka.read(`${LISTS}.dlq`, `${REASONS}.dlq`);
    await plant.sandbox.addFault({
      operation: 'setWorkOrderList',
      machineId: 'M-003',
      status: 409,
    });
    await plant.kafka.sendJson(LISTS, 'M-003', { machineId: 'M-003', workingOrders: ['later'] });
    await plant.kafka.sendJson(LISTS, 'M-404', { machineId: 'M-404', workingOrders: ['4711'] });
    const binary = { key: Buffer.from([0xfd]), value: BINARY, headers: BINARY_HEADERS };
    await plant.kafka.send(LISTS, binary);
    await plant.kafka.sendJson(REASONS, 'M-001', { machineId: 'M-001', reasonId: '11' });
    await deadLetters.findAtLeast(4, 'dead letter', () => true);
    await plant.sandbox.clearFaults();
  });

  afterAll(() => plant.close());

  const dlq = (...args: string[]): Promise<CommandResult> =>
    runCommand(['dlq', ...args], { topicPrefix: plant.kafka.topicPrefix });

  const listedIn = async (topics: string[], ...args: string[]): Promise<ListedDeadLetter[]> =>
    jsonLines(await dlq('list', ...topics, '--json', ...args));

  const listed = (...args: string[]): Promise<ListedDeadLetter[]> => listedIn([LISTS], ...args);

  const placeOf = async (code: string): Promise<string[]> => {
    const [deadLetter] = await listed('--code', code);
    return ['--partition', String(deadLetter?.partition), '--offset', String(deadLetter?.offset)];
  };

  const binaryInputs = (count: number): Promise<ReadRecord[]> =>
    inputs.findAtLeast(count, 'the binary message', ({ value }) => value?.equals(BINARY) === true);

  it('gives an overview of all topics', async () => {
    const { exitCode, stdout } = await dlq('list');
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`${plant.kafka.topicPrefix}${LISTS}.dlq: 3 dead letters, 0 replayed`);
    expect(stdout).toMatch(/1 {2}unknown-machine/);
    expect(stdout).toContain(`${REASONS}.dlq: 1 dead letter, 0 replayed`);
    expect(stdout).toContain(`${TOPICS.workOrders}.dlq: no dead letters`);
    expect(stdout).not.toContain('machine-bridge.');
  });

  it("lists the dead letters of a topic by the input's name or its own, with or without the prefix", async () => {
    const { stdout } = await dlq('list', LISTS);
    expect(stdout).toMatch(/unknown-machine +M-404 +\S.*M-404/);
    expect(stdout).toMatch(/rejected-by-service +M-003/);
    expect(stdout).toContain('3 dead letters');
    const inFull = `${plant.kafka.topicPrefix}${LISTS}`;
    for (const name of [`${LISTS}.dlq`, inFull, `${inFull}.dlq`]) {
      expect((await dlq('list', name)).stdout).toBe(stdout);
    }
  });

  it('lists only those of a code and a machine, and the newest up to a limit', async () => {
    expect(await listed('--code', 'unknown-machine', '--machine', 'M-404')).toMatchObject([
      { code: 'unknown-machine', machineIds: ['M-404'], replayedAt: null },
    ]);
    expect(await listed('--limit', '2')).toHaveLength(2);
    expect(await listed('--all')).toHaveLength(3);
  });

  it('lists dead letters of all topics without a topic name, if a limit is given', async () => {
    const all = await listedIn([], '--all');
    expect(all.map(({ topic }) => topic.slice(plant.kafka.topicPrefix.length))).toEqual(
      [LISTS, LISTS, LISTS, REASONS].map((name) => `${name}.dlq`),
    );
    expect(await listedIn([], '--limit', '9', '--code', 'missing-times')).toHaveLength(1);
    const { stdout } = await dlq('list', '--limit', '3');
    expect(stdout).toMatch(/^topic +partition\/offset +failed/);
    expect(stdout).toContain('the newest 3 of 4 dead letters; --limit N or --all shows more');
    const shown = stdout.split('\n').slice(1, -2);
    expect(shown).toHaveLength(3);
    for (const line of shown) expect(line).toMatch(/^\S+\.dlq +\d+\/\d+ +2\S+Z +[a-z-]+ /);
  });

  it('shows a dead letter in full, its value indented', async () => {
    const { stdout } = await dlq('show', LISTS, '--code', 'unknown-machine');
    expect(stdout).toContain('why       unknown-machine: ');
    expect(stdout).toMatch(new RegExp(`source +\\S*${LISTS} \\d+/\\d+, written 2`));
    expect(stdout).toContain('value, JSON, 46 bytes\n    {\n      "machineId": "M-404",\n');
  });

  it('shows bytes as bytes, escapes control characters, and writes the exact bytes on request', async () => {
    const place = await placeOf('invalid-json');
    const { stdout } = await dlq('show', LISTS, ...place);
    expect(stdout).toContain('00000000  ff 00 1b 5b 32 4a');
    expect(stdout).toContain('header    several: one\n  header    several: two\n');
    expect(stdout).toContain('header    empty: \n');
    expect(stdout).toContain('header    bytes: 0xfe01\n');
    expect(stdout).not.toContain('\u001b');
    const raw = await dlq('show', LISTS, ...place, '--raw');
    expect(raw.stdoutBytes.equals(BINARY)).toBe(true);
    expect(await dlq('show', LISTS, '--raw')).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: expect.stringContaining('name one with --partition and --offset') as string,
    });
    const newest = await dlq('show', LISTS, '--limit', '1', '--json');
    const { valueBase64 } = JSON.parse(newest.stdout) as { valueBase64: string };
    const newestRaw = await dlq('show', LISTS, '--limit', '1', '--raw');
    expect(newestRaw.exitCode).toBe(0);
    expect(newestRaw.stdoutBytes.toString('base64')).toBe(valueBase64);
  });

  it('only prints the plan of a replay, unless --yes is given', async () => {
    const { exitCode, stdout } = await dlq('replay', LISTS, '--code', 'invalid-json');
    expect(exitCode).toBe(0);
    expect(stdout).toContain('would replay 1 dead letter\nNothing has been sent: add --yes');
    expect(await listed('--code', 'invalid-json')).toMatchObject([{ replayedAt: null }]);
    expect(await binaryInputs(1)).toHaveLength(1);
  });

  it('replays the message byte for byte once, and again only on request', async () => {
    const replay = ['replay', LISTS, ...(await placeOf('invalid-json')), '--yes'];
    expect(await dlq(...replay)).toMatchObject({
      exitCode: 0,
      stdout: 'replayed 1 dead letter\n',
      stderr: '',
    });
    const [first, second] = await binaryInputs(2);
    expect(second).toMatchObject({ topic: LISTS, key: first?.key, value: first?.value });
    expect(second?.timestamp).toBe(first?.timestamp);
    expect(first?.headers).toEqual({
      empty: Buffer.alloc(0),
      several: [Buffer.from('one'), Buffer.from('two')],
      bytes: Buffer.from([0xfe, 0x01]),
    });
    expect(second?.headers).toEqual({
      ...first?.headers,
      'dlq-replay-count': Buffer.from('1'),
      'dlq-replayed-by': Buffer.from(`${userInfo().username}@${hostname()}`),
    });

    expect((await dlq(...replay)).stdout).toBe(
      'replayed 0 dead letters; 1 replayed before (--again takes them too)\n',
    );
    const again = [...replay, '--again', '--by', 'ann', '--json'];
    expect(jsonLines(await dlq(...again))).toMatchObject([
      { result: 'replayed', toTopic: `${plant.kafka.topicPrefix}${LISTS}` },
      { dryRun: false, replayed: 1, replayedBefore: 0, impossible: 0 },
    ]);
    await binaryInputs(3);
    expect((await dlq('list', LISTS)).stdout).toMatch(/\[replayed 2\d{3}-.*Z\]/);
  });

  it('makes the bridge apply messages that have become valid', async () => {
    await dlq('replay', LISTS, '--code', 'rejected-by-service', '--yes');
    await plant.sandbox.listBecomes('M-003', ['later']);
    expect(await listed('--machine', 'M-003')).toMatchObject([
      { replayedAt: expect.any(Number) as number },
    ]);
  });

  it('replays by time up to the end at its start, though failures extend the topic', async () => {
    const inTheirDay = ['--since', '2020-01-01T00:00:00Z', '--until', '2200-01-01T00:00:00Z'];
    expect((await dlq('replay', REASONS, '--until', '1600000000')).stdout).toContain(
      'would replay 0 dead letters',
    );
    expect((await dlq('replay', REASONS, ...inTheirDay, '--yes')).stdout).toBe(
      'replayed 1 dead letter\n',
    );
    await deadLetters.findAtLeast(
      2,
      'the same dead letter again',
      ({ topic }) => topic === `${REASONS}.dlq`,
    );
  });

  it('names dead letters that cannot be replayed, and fails', async () => {
    const headers = {
      'dlq-code': 'too-large',
      'dlq-source-topic': `${plant.kafka.topicPrefix}${TOPICS.workOrders}`,
      'dlq-source-partition': '2',
      'dlq-source-offset': '17',
      'dlq-value-omitted': '2000000',
    };
    await plant.kafka.send(`${TOPICS.workOrders}.dlq`, { key: '4711', value: null, headers });
    const replay = await dlq('replay', TOPICS.workOrders, '--all', '--yes');
    expect(replay.exitCode).toBe(1);
    expect(replay.stdout).toMatch(/cannot be replayed: .*2000000 bytes.* offset 17 of partition 2/);
    expect(replay.stdout).toContain('replayed 0 dead letters; 1 cannot be replayed\n');
  });

  it("shows dead letters of the bridge's own topics, which cannot be replayed", async () => {
    const headers = {
      'dlq-code': 'invalid-message',
      'dlq-source-topic': `${plant.kafka.topicPrefix}${RELAYED}`,
    };
    await plant.kafka.send(`${RELAYED}.dlq`, { key: 'own', value: '{}', headers });
    const { stdout } = await dlq('list');
    expect(stdout).toContain(`${RELAYED}.dlq: 1 dead letter, 0 replayed`);
    expect(stdout.match(/machine-bridge\./g)).toHaveLength(1);
    expect((await dlq('list', '--limit', '1')).stdout).toContain(`${RELAYED}.dlq`);
    expect((await dlq('show', RELAYED)).stdout).toContain('why       invalid-message');
    expect(await dlq('replay', RELAYED, '--all', '--yes')).toMatchObject({
      exitCode: 1,
      stdout: expect.stringContaining(
        `there is no input topic ${plant.kafka.topicPrefix}`,
      ) as string,
    });
  });

  it.each([
    ['an unknown topic', ['list', 'nonsense'], 1, /there are: .*work-order-lists\.v1\.dlq/],
    ['a replay without a selection', ['replay', LISTS, '--yes'], 64, /--all/],
    ['an unknown code', ['list', LISTS, '--code', 'typo'], 64, /unknown-machine, unknown-reason/],
    ['an unknown command', ['lst'], 64, /list, show or replay/],
    ['no such dead letter', ['show', LISTS, '--offset', '999999'], 1, /no such dead letter/],
  ])('explains %s', async (_, args, exitCode, explanation) => {
    expect(await dlq(...args)).toMatchObject({
      exitCode,
      stdout: '',
      stderr: expect.stringMatching(explanation) as string,
    });
  });

  it('reports an unreachable Kafka and wrong settings', async () => {
    const nowhere = await runCommand(['dlq', 'list'], { topicPrefix: '', brokers: '127.0.0.1:1' });
    expect(nowhere).toMatchObject({ exitCode: 1, stdout: '' });
    expect(nowhere.stderr).toContain('Kafka cannot be reached at 127.0.0.1:1');
    const wrong = await runCommand(['dlq', 'list'], { topicPrefix: 'a b', brokers: 'nowhere' });
    expect(wrong).toMatchObject({ exitCode: 78, stdout: '' });
    expect(wrong.stderr).toMatch(/KAFKA_BROKERS[^]*KAFKA_TOPIC_PREFIX/);
  });
});

describe('npm run dlq -- replay, of many dead letters', () => {
  const COUNT = 20_000;
  const PRODUCE = 0;
  const kafka = new TestKafka(testBrokers(), uniqueTopicPrefix());
  const { topicPrefix } = kafka;
  let inputs: TopicReader;
  let relay: KafkaRelay;

  /** Holds back produce requests after the first `passing`, so that no replay ends by itself. */
  const holdBackProduced = (passing: number): void => {
    let produced = 0;
    relay.holdBack((request) => request.readInt16BE(4) === PRODUCE && (produced += 1) > passing);
  };

  beforeAll(async () => {
    relay = await KafkaRelay.to(testBrokers()[0]!);
    const headers = { 'dlq-code': 'unknown-machine', 'dlq-source-topic': `${topicPrefix}${LISTS}` };
    const names = [LISTS, `${LISTS}.dlq`].map((name) => `${topicPrefix}${name}`);
    const topics = names.map((name) => ({ name, cleanupPolicy: 'delete' as const }));
    const settings = loadKafkaSettings({ KAFKA_BROKERS: testBrokers().join(',') });
    await ensureTopics(createKafka(settings), topics, { create: true, partitions: 2 });
    const deadLetters = Array.from({ length: COUNT }, (_, index) => String(index));
    await kafka.send(
      `${LISTS}.dlq`,
      ...deadLetters.map((value) => ({ key: value, value, headers })),
    );
    inputs = await kafka.read(LISTS);
  });

  afterAll(async () => {
    await kafka.close();
    await relay.close();
  });

  it('stops safely, reports its progress, and continues from there', async () => {
    const replay = ['dlq', 'replay', LISTS, '--code', 'unknown-machine', '--yes'];
    holdBackProduced(1);
    const interrupted = new RunningCommand(replay, { topicPrefix, brokers: relay.address });
    await inputs.find('the first message', () => true);
    interrupted.kill('SIGINT');
    relay.release();
    const { exitCode, stdout, stderr } = await interrupted.result();
    expect({ exitCode, stderr }).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('the same command goes on from here') as string,
    });
    const replayed = Number(/^replayed (\d+) dead letters\n$/.exec(stdout)?.[1]);
    expect(replayed).toBeGreaterThan(0);
    expect(replayed).toBeLessThan(COUNT);

    expect((await runCommand(replay, { topicPrefix })).stdout).toBe(
      `replayed ${COUNT - replayed} dead letters; ` +
        `${replayed} replayed before (--again takes them too)\n`,
    );
    await inputs.findAtLeast(COUNT, 'message', () => true);
    expect(new Set(inputs.records.map(({ value }) => String(value))).size).toBe(COUNT);
    expect(inputs.records).toHaveLength(COUNT);
  });

  it('stops likewise when its output is closed, and continues when its error output is closed', async () => {
    const putBackBy = (by: string): number =>
      inputs.records.filter(({ headers }) => String(headers['dlq-replayed-by']) === by).length;
    const replay = (by: string, ...more: string[]): RunningCommand => {
      const some = ['--partition', '1', '--again', '--max-replays', '9', '--json', '--yes'];
      return new RunningCommand(['dlq', 'replay', LISTS, ...some, '--by', by, ...more], {
        ...{ topicPrefix, brokers: relay.address },
      });
    };
    holdBackProduced(2);
    const unread = replay('without-output');
    await unread.untilOutputMatches(/"replayed"/);
    unread.stopReading('stdout');
    relay.release();
    expect(await unread.result()).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('the same command goes on from here') as string,
    });
    const { records } = await kafka.read('machine-bridge.dead-letter-replays.v1');
    const marks = () => records.filter(({ value }) => String(value).includes('without-output'));
    await eventually('each message that was put back has its mark', () => {
      return marks().length > 0 && marks().length === putBackBy('without-output');
    });

    const unheard = replay('without-errors', '--rate', '400');
    unheard.stopReading('stderr');
    // it reports its progress every five seconds
    await eventually('it goes on', () => putBackBy('without-errors') > 400 * 11);
    unheard.kill('SIGINT');
    expect(await unheard.result()).toMatchObject({ exitCode: 1 });
  });

  it('is no faster than its --rate', async () => {
    const isByRated = ({ headers }: ReadRecord): boolean =>
      String(headers['dlq-replayed-by']) === 'rated';
    const startedMs = realNowMs();
    const some = ['--partition', '0', '--again', '--rate', '40', '--by', 'rated', '--yes'];
    const rated = new RunningCommand(['dlq', 'replay', LISTS, ...some], { topicPrefix });
    await eventually('eighty are replayed', () => inputs.records.filter(isByRated).length >= 80);
    // 80 at 40 a second in portions of 4: the last portion is not before 1.9 s.
    expect(realNowMs() - startedMs).toBeGreaterThan(1900);
    rated.kill('SIGINT');
    expect(await rated.result()).toMatchObject({ exitCode: 1 });
  });
});
