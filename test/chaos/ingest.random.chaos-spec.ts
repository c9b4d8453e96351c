import { createHmac, randomUUID } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { globalAgent } from 'node:http';
import { join } from 'node:path';
import { realDelayMs, realEpochMs } from '#libs/clock';
import { TOPICS } from '#libs/contracts';
import { type LocalCluster, startLocalCluster } from '../../tools/kafka/local-kafka.mjs';
import { AppProcess } from '../support/app-process.js';
import { CallbackReceiver, isSigned } from '../support/callback-receiver.js';
import { Answers } from '../support/chaos/answers.js';
import { Chance } from '../support/chaos/chance.js';
import { ChaosPlant } from '../support/chaos/chaos-plant.js';
import { Closers } from '../support/chaos/closers.js';
import { commandId, type CommandKind, commandMessage } from '../support/chaos/commands.js';
import { deliveriesOf } from '../support/chaos/deliveries.js';
import { lostReasons, staleLists } from '../support/chaos/delivery-faults.js';
import {
  bugsOf,
  FaultyProcesses,
  happenByChance,
  MINUTES,
  nodeFaults,
  SEED,
} from '../support/chaos/faults.js';
import { inBrief } from '../support/chaos/in-brief.js';
import { isUnexpected, postOddly, type WholeAnswer } from '../support/chaos/odd-client.js';
import { eventually } from '../support/eventually.js';
import { ingestSettings, type Place } from '../support/running-ingest.js';
import {
  header,
  json,
  placesOf,
  type ReadRecord,
  type TopicReader,
} from '../support/topic-reader.js';
import { temporaryFolder } from '../../libs/config/test/temporary-files.js';

const NODES = 3;
const MOST_PROCESSES = 3;
const MACHINES = 12;
const EVENTS_OF_BATCH = 4;
const LONGEST_PAUSE_MS = 300;
const LONGEST_RECEIVER_FAULT_MS = 8000;
const LONGEST_TWIN_MS = 10_000;
const LONGEST_WITHOUT_CALLBACK_MS = 10_000;
/** The share of messages that are posted to two processes at the same moment. */
const TWICE_AT_ONCE = 0.2;
const CALLBACK_KEY = 'key-of-callbacks';

/** 401 while a token or a key is replaced, and 429 after too many requests with the previous one. */
const EXPECTED = new Set([200, 202, 401, 408, 429, 503]);

const RECEIVER_FAULTS: Pick<CallbackReceiver, 'status' | 'headers'>[] = [
  { status: 503, headers: {} },
  { status: 500, headers: {} },
  { status: 404, headers: {} },
  { status: 429, headers: { 'retry-after': '2' } },
  { status: 302, headers: { location: 'http://127.0.0.1:1/' } },
];

/** The next request of a stream: one message, or several as a batch of events. */
interface Posting {
  path: string;
  body: string;
  /** The ids of its messages, in order; undefined for a message without an id. */
  ids: readonly string[] | undefined;
  sender: 'erp' | 'mes';
}

/** How the messages of one machine are posted. */
type Way = 'by id' | 'signed' | 'in batches' | 'without id';
const WAYS: readonly Way[] = ['by id', 'signed', 'in batches', 'without id'];

describe(`ingest under any failure (seed ${SEED}, ${MINUTES} minutes)`, () => {
  const chance = new Chance(SEED);
  const ending = new AbortController();
  const failed = new AbortController();
  const closers = new Closers();
  const folder = temporaryFolder();
  const files = { senders: join(folder, 'senders.json'), token: join(folder, 'token') };
  const started: AppProcess[] = [];
  const twins: AppProcess[] = [];
  /** The last one of each is current. */
  const secrets = { erp: [newSecret()], mes: [newSecret()], callbacks: [CALLBACK_KEY] };
  /** The number of accepted messages with an id, per machine. */
  const sent: Record<CommandKind, Map<string, number>> = { list: new Map(), reason: new Map() };
  const places = new Map<string, Set<string>>();
  const bodies = new Map<string, string>();
  const oddAnswers: string[] = [];
  const statuses = new Map<number, number>();
  let postsWithoutId = 0;
  let cluster: LocalCluster;
  let plant: ChaosPlant;
  let ingests: FaultyProcesses;
  let receivers: Record<'erp' | 'mes', CallbackReceiver>;
  let records: readonly ReadRecord[];
  let outcomes: TopicReader;
  let answers: Answers;

  const startIngest = (place: number): AppProcess => {
    const settings = ingestSettings(plant.kafka.topicPrefix, {
      KAFKA_BROKERS: cluster.brokers,
      INGEST_INSTANCE: `instance-${place}`,
      INGEST_SENDERS_FILE: files.senders,
    });
    const process = new AppProcess('ingest', settings);
    started.push(process);
    closers.add(() => process.close());
    return process;
  };

  /** Replaces the file in one step, because a process that starts meanwhile would fail on half of it. */
  const replaceFile = (path: string, text: string): void => {
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  };
  const writeSenders = (hasCallbacks = true): void => {
    const callbackOf = (name: 'erp' | 'mes'): object =>
      hasCallbacks || name === 'mes'
        ? {
            callback: {
              url: receivers[name].url,
              hmacSecret: secrets.callbacks.at(-1),
              timeoutMs: 3000,
            },
          }
        : {};
    const common = {
      paths: ['/lists', '/reasons', '/events', '/metrics'],
      requestsPerSecond: 1000,
    };
    const senders = {
      erp: { ...common, tokenFile: files.token, ...callbackOf('erp') },
      mes: { ...common, hmacSecret: secrets.mes.at(-1), ...callbackOf('mes') },
    };
    replaceFile(files.token, secrets.erp.at(-1)!);
    replaceFile(files.senders, JSON.stringify({ senders }));
  };

  const headersOf = ({ sender, ids, body, path }: Posting): Record<string, string> => {
    const [id = randomUUID()] = ids ?? [];
    if (sender === 'erp') {
      const isBatch = path === '/events';
      return {
        authorization: `Bearer ${secrets.erp.at(-1)}`,
        ...(isBatch && { 'content-type': 'application/cloudevents-batch+json' }),
        ...(!isBatch && ids !== undefined && { 'idempotency-key': id }),
      };
    }
    const timestamp = String(Math.floor(realEpochMs() / 1000));
    const signature = createHmac('sha256', secrets.mes.at(-1)!)
      .update(`${id}.${timestamp}.${body}`)
      .digest('base64');
    return {
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${signature}`,
    };
  };

  const postTo = async (
    process: AppProcess,
    posting: Posting,
    by: Chance,
  ): Promise<WholeAnswer | undefined> => {
    const url = process.listensAt;
    if (url === undefined) return undefined;
    if (posting.ids === undefined) postsWithoutId += 1;
    const answer = await postOddly(url + posting.path, headersOf(posting), posting.body, by);
    if (answer === undefined) return undefined;
    const { status, body } = answer;
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (isUnexpected(answer, EXPECTED)) oddAnswers.push(`${status} ${body}`);
    if (status === 200 || status === 202) notePlaces(posting, body);
    return answer;
  };

  const notePlaces = ({ body: posted, ids }: Posting, body: string): void => {
    const answered = [JSON.parse(body) as Place | Place[]].flat();
    for (const [index, { id, topic, partition, offset }] of answered.entries()) {
      const name = ids?.[index] ?? id;
      if (ids !== undefined && id !== name) oddAnswers.push(`${name}: answered as ${id}`);
      places.set(name, (places.get(name) ?? new Set()).add(`${topic} ${partition} ${offset}`));
      if (ids === undefined) bodies.set(id, posted);
    }
  };

  const wayOf = (machineId: string): Way =>
    WAYS[plant.load.machineIds.indexOf(machineId) % WAYS.length]!;
  const batchSizeOf = (machineId: string): number =>
    wayOf(machineId) === 'in batches' ? EVENTS_OF_BATCH : 1;

  const nextOf = (way: Way, machineId: string, from: number): Posting => {
    const kind = way === 'by id' || way === 'without id' ? 'list' : 'reason';
    const count = batchSizeOf(machineId);
    const commands = Array.from({ length: count }, (_, index) => {
      return { kind, machineId, number: from + index } as const;
    });
    const values = commands.map((command) => String(commandMessage(command).value));
    const events = commands.map((command, index) => ({
      ...{ specversion: '1.0', id: commandId(command), source: '/erp' },
      ...{ type: TOPICS.downtimeReasons, data: JSON.parse(values[index]!) as unknown },
    }));
    return {
      path: way === 'in batches' ? '/events' : kind === 'list' ? '/lists' : '/reasons',
      body: way === 'in batches' ? JSON.stringify(events) : values[0]!,
      ids: way === 'without id' ? undefined : commands.map(commandId),
      sender: way === 'signed' ? 'mes' : 'erp',
    };
  };

  /** Posts one after the other, each until it is accepted, unless the test has failed. */
  const stream = async (machineId: string, number: number): Promise<void> => {
    const by = new Chance(SEED * 1000 + number);
    const way = wayOf(machineId);
    for (let count = 0; !ending.signal.aborted;) {
      const posting = nextOf(way, machineId, count);
      for (let isTaken = false; !isTaken && !failed.signal.aborted;) {
        const all = [...ingests.running.values(), ...twins];
        const to = [by.pick(all), ...(by.happens(TWICE_AT_ONCE) ? [by.pick(all)] : [])];
        const answered = await Promise.all(to.map((process) => postTo(process, posting, by)));
        isTaken = answered.some((answer) => answer?.status === 200 || answer?.status === 202);
        await realDelayMs(by.upTo(LONGEST_PAUSE_MS));
      }
      count += posting.ids?.length ?? 1;
      // without an id, a message whose request was given up may be written after the next one
      if (posting.ids !== undefined)
        sent[way === 'by id' ? 'list' : 'reason'].set(machineId, count);
    }
  };

  const receiverFails = async (): Promise<void> => {
    const receiver = chance.pick(Object.values(receivers));
    let goOn = (): void => undefined;
    const isOver = new Promise<void>((resolve) => (goOn = resolve));
    if (chance.happens(0.3)) receiver.answers = () => isOver;
    else Object.assign(receiver, chance.pick(RECEIVER_FAULTS));
    await realDelayMs(chance.upTo(LONGEST_RECEIVER_FAULT_MS));
    Object.assign(receiver, { status: 200, headers: {}, answers: () => undefined });
    goOn();
  };
  const secretIsReplaced = (): Promise<void> => {
    chance.pick(Object.values(secrets)).push(newSecret());
    writeSenders();
    return Promise.resolve();
  };
  const callbackIsTakenOut = async (): Promise<void> => {
    writeSenders(false);
    await realDelayMs(chance.upTo(LONGEST_WITHOUT_CALLBACK_MS));
    writeSenders();
  };
  /** Starts a process by the name of one that may be running: each ends the transactions of the other. */
  const twinRuns = async (): Promise<void> => {
    const twin = startIngest(0);
    twins.push(twin);
    await twin.url();
    await realDelayMs(chance.upTo(LONGEST_TWIN_MS));
    twins.splice(twins.indexOf(twin), 1);
    twin.kill('SIGTERM');
    expect(await twin.exitCode()).toBe(0);
  };

  beforeAll(
    async () => {
      cluster = await startLocalCluster({ dir: temporaryFolder(), nodes: NODES });
      closers.add(() => cluster.kill());
      receivers = { erp: await CallbackReceiver.start(), mes: await CallbackReceiver.start() };
      for (const receiver of Object.values(receivers)) closers.add(() => receiver.close());
      writeSenders();
      const brokers = cluster.brokers.split(',');
      plant = await ChaosPlant.open({ brokers, machines: MACHINES, partitions: 3 });
      closers.add(() => plant.close());
      await plant.startBridge().ready();
      ingests = new FaultyProcesses(chance, MOST_PROCESSES, startIngest);
      ingests.start();
      await ingests.untilReady();
      const streams = plant.load.machineIds.map((id, index) => stream(id, index));
      const faults = {
        ...ingests.faults(),
        ...nodeFaults(cluster, plant.kafka.topics, chance),
        twin: { weight: 1, happen: twinRuns },
        receiver: { weight: 4, happen: receiverFails },
        secret: { weight: 2, kind: 'senders', happen: secretIsReplaced },
        callback: { weight: 1, kind: 'senders', happen: callbackIsTakenOut },
      };
      await happenByChance(faults, chance, () => `${ingests.running.size} ingests`);
      while (ingests.running.size < MOST_PROCESSES) ingests.start();
      await ingests.untilReady();
      ending.abort();
      await Promise.all(streams);
      process.stdout.write(`${places.size} messages, answers ${JSON.stringify([...statuses])}\n`);
      const inputs = await plant.kafka.read(TOPICS.workOrderLists, TOPICS.downtimeReasons);
      await eventually('all messages are read', () => {
        const read = new Set(inputs.records.map(idOf));
        return [...places.keys()].every((id) => read.has(id));
      });
      records = inputs.records;
      outcomes = await plant.kafka.read(TOPICS.commandOutcomes);
      answers = new Answers(outcomes);
      await answers.untilAll([...places.keys()], 180_000);
    },
    (MINUTES + 10) * 60_000,
  );

  afterAll(async () => {
    for (const each of [ending, failed]) each.abort();
    await closers.closeAll();
  }, 120_000);

  it('answers as documented', () => {
    expect(inBrief(oddAnswers)).toEqual([]);
  });

  it('has each answered message once, at the answered place', () => {
    const written = placesOf(records, plant.kafka.topicPrefix, idOf);
    const faults = [...places]
      .map(([id, said]) => ({ id, said: [...said], lie: written.get(id) ?? [] }))
      .filter(({ said, lie }) => said.join() !== lie.join() || said.length !== 1);
    expect(faults.map((fault) => JSON.stringify(fault)).slice(0, 10)).toEqual([]);
    const unanswered = [...written.keys()].filter((id) => !places.has(id));
    expect(unanswered.filter((id) => id.startsWith('list/') || id.startsWith('reason/'))).toEqual(
      [],
    );
    expect(bodies.size + unanswered.length).toBeLessThanOrEqual(postsWithoutId);
  });

  it('has the bytes that were posted', () => {
    const byId = new Map(records.map((record) => [idOf(record), record.value?.toString()]));
    for (const [id, body] of bodies) expect([id, byId.get(id)]).toEqual([id, body]);
  });

  it('recognises each id in every process, and refuses it with another body', async () => {
    const processes = [...ingests.running.values()];
    const by = new Chance(SEED);
    const ids = [...places.keys()].filter((id) => id.startsWith('list/')).slice(-40);
    for (const [index, id] of ids.entries()) {
      const [, machineId = '', number] = id.split('/');
      const command = { kind: 'list', machineId, number: Number(number) } as const;
      const body = String(commandMessage(command).value);
      const posting: Posting = { path: '/lists', body, ids: [id], sender: 'erp' };
      const url = processes[index % processes.length]!.listensAt!;
      const post = (other: string): Promise<number> =>
        eventually(`an answer to ${id}`, async () => {
          const answer = await postOddly(`${url}/lists`, headersOf(posting), other, by);
          if (answer?.status === 200) notePlaces(posting, answer.body);
          return answer !== undefined && ![401, 429, 503].includes(answer.status) && answer.status;
        });
      expect([await post(body), await post(`${body} `)]).toEqual([200, 422]);
      expect(places.get(id)?.size).toBe(1);
    }
  });

  it('has the messages of a machine in the order of their requests, except within a batch', () => {
    const newest = new Map<string, number>();
    for (const id of records.map(idOf)) {
      const [, machineId = '', number] = id.split('/');
      if (number === undefined) continue;
      const ofBatch = Number(number) - (Number(number) % batchSizeOf(machineId));
      expect(ofBatch).toBeGreaterThanOrEqual(newest.get(machineId) ?? 0);
      newest.set(machineId, ofBatch);
    }
  });

  it('has each message carried out', async () => {
    const calls = await plant.sandbox.allCalls();
    expect(lostReasons(sent.reason, deliveriesOf('reason', calls))).toEqual([]);
    expect(staleLists(sent.list, deliveriesOf('list', calls))).toEqual([]);
    expect(answers.repetitions()).toEqual([]);
    expect(await plant.countDeadLetters()).toBe(0);
  });

  it('posts each outcome to the callback, signed', async () => {
    // ends the long pauses that follow failures
    secrets.callbacks.push(newSecret());
    writeSenders();
    for (const [name, receiver] of Object.entries(receivers)) {
      const ids = outcomes.records
        .filter((outcome) => (json(outcome)['source'] as { sender: string }).sender === name)
        .map((outcome) => header(outcome, 'ce_id') ?? '');
      await eventually(`each outcome of ${name} is called back`, () => {
        const taken = new Set(
          receiver.calls
            .filter(({ isAnswered, status }) => isAnswered && status === 200)
            .map(({ id }) => id),
        );
        const missing = ids.filter((id) => !taken.has(id));
        expect({ of: ids.length, missing: inBrief(missing) }).toMatchObject({ missing: [] });
        return true;
      });
    }
    const calls = Object.values(receivers).flatMap((receiver) => receiver.calls);
    const isOurs = (call: (typeof calls)[number]): boolean =>
      secrets.callbacks.some((key) => isSigned(call, key));
    expect(calls.filter((call) => !isOurs(call))).toEqual([]);
  });

  it('holds nothing that has ended', async () => {
    globalAgent.destroy();
    const fresh = startIngest(MOST_PROCESSES);
    await ingests.untilNothingHeld(fresh, 'machine_ingest_waiting', secrets.erp.at(-1)!);
  });

  it('logs no bug, and gives up no outcome', () => {
    expect(bugsOf(started)).toEqual([]);
  });
});

function newSecret(): string {
  return `secret-${randomUUID()}`;
}

/** The ids inside the events of a batch. */
function idOf(record: ReadRecord): string {
  return header(record, 'message-id') ?? String(json(record)['id']);
}
