import type { Environment } from '#libs/config';
import { TOPICS } from '#libs/contracts';
import { AppProcess } from '../support/app-process.js';
import { CallbackReceiver } from '../support/callback-receiver.js';
import { ChaosPlant } from '../support/chaos/chaos-plant.js';
import { eventually } from '../support/eventually.js';
import { ingestSettings, postUntilTaken } from '../support/running-ingest.js';
import { temporaryFile } from '../../libs/config/test/temporary-files.js';
import { header, messageIdOf, type ReadRecord, type TopicReader } from '../support/topic-reader.js';

const TOKEN = 'token-of-the-erp-of-callbacks';
const MACHINES = 12;
/** The longest interval: answers during a test stay uncommitted, except the first of each partition. */
const LONG_COMMIT_INTERVAL_MS = '60000';
const ANSWERED_BEFORE_KILL = 12;

describe('callbacks of a killed ingest', () => {
  let sendersFile: string;
  let erp: CallbackReceiver;
  let plant: ChaosPlant;
  let outcomes: TopicReader;
  let processes: AppProcess[];
  let posted: number;

  const open = async (partitions: number): Promise<void> => {
    erp = await CallbackReceiver.start();
    const callback = { url: erp.url, hmacSecret: 'secret-of-the-callbacks', timeoutMs: 60_000 };
    const senders = { erp: { token: TOKEN, paths: ['/orders'], callback } };
    sendersFile = temporaryFile('senders.json', { senders });
    const env = { BRIDGE_FLOWS: 'work-orders' };
    plant = await ChaosPlant.open({ machines: MACHINES, partitions, env });
    outcomes = await plant.kafka.read(TOPICS.commandOutcomes);
    [processes, posted] = [[], 0];
    await plant.startBridge().ready();
  };

  afterEach(async () => {
    await Promise.all(processes.map((process) => process.close()));
    await plant.close();
    await erp.close();
  });

  const callbackGroup = (): string => `${plant.groupId}-callback-erp`;

  const startIngest = async (
    instance: string,
    env: Environment = {},
  ): Promise<{ process: AppProcess; url: string }> => {
    const settings = ingestSettings(plant.kafka.topicPrefix, {
      ...{ INGEST_INSTANCE: instance, INGEST_SENDERS_FILE: sendersFile, ...env },
    });
    const process = new AppProcess('ingest', settings);
    processes.push(process);
    return { process, url: await process.ready() };
  };

  /** Posts an order for the next machine; returns the id of the message. */
  const postOrder = async (url: string): Promise<string> => {
    const { machineIds } = plant.load;
    const machineId = machineIds[posted % machineIds.length];
    const id = `order-${(posted += 1)}`;
    const operations = [{ operationId: '0010', machineId, status: 'released' }];
    const order = { orderId: id, changedAt: 1_763_680_000, status: 'released', operations };
    const headers = { authorization: `Bearer ${TOKEN}`, 'idempotency-key': id };
    await postUntilTaken(url, '/orders', order, headers);
    return id;
  };

  it('are repeated with the same id when it dies between an answer and its commit, and none is missed', async () => {
    await open(1);
    const env = { COMMIT_INTERVAL_MS: LONG_COMMIT_INTERVAL_MS };
    const committed = (): Promise<number> =>
      plant.kafka.groups.committed(callbackGroup(), TOPICS.commandOutcomes);
    const offsetOf = async (id: string): Promise<number> => (await outcomes.outcomeOf(id)).offset;

    const { process, url } = await startIngest('a', env);
    const first = await postOrder(url);
    await erp.untilCalled(first);
    const firstOffset = await offsetOf(first);
    await eventually('the first commit', async () => (await committed()) > firstOffset);
    const answered = await postOrder(url);
    await erp.untilCalled(answered);
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    erp.answers = () => released;
    const unanswered = await postOrder(url);
    // made only after the previous callback has ended
    await erp.untilCalled(unanswered);
    process.kill('SIGKILL');
    await process.exitCode();
    expect(await committed()).toBeLessThanOrEqual(await offsetOf(answered));
    release();

    const successor = await startIngest('a', env);
    const last = await postOrder(successor.url);
    await erp.untilCalled(last);
    const ids = [first, answered, unanswered, last];
    expect(ids.map((id) => erp.callsAbout(id).length)).toEqual([1, 2, 2, 1]);
    expect(erp.calls.map(({ id }) => id)).toEqual(
      [first, answered, unanswered, answered, unanswered, last].map(
        (id) => erp.callsAbout(id)[0]?.id,
      ),
    );
    expect(new Set(erp.calls.map(({ id }) => id)).size).toBe(ids.length);
  });

  it('do not count as failed when a joining process interrupts them', async () => {
    await open(4);
    const first = await startIngest('a');
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    erp.answers = () => released;
    const id = await postOrder(first.url);
    await erp.untilCalled(id);
    await startIngest('b');
    await plant.kafka.groups.untilMembers(2, callbackGroup());
    // by the process that now owns its partition
    await erp.untilCalled(id, 2);
    release();
    await eventually('the log says so', () => first.process.output.includes('calls cut off'));
    expect(first.process.output).not.toContain('a callback fails');
  });

  it('are all made by the other process, in order per machine', async () => {
    await open(4);
    const [killed, other] = [await startIngest('a'), await startIngest('b')];
    await plant.kafka.groups.untilMembers(2, callbackGroup());
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    erp.answers = () => (erp.calls.length > ANSWERED_BEFORE_KILL ? released : undefined);
    for (let order = 0; order < 5 * MACHINES; order += 1) await postOrder(killed.url);
    // each process makes one at a time
    await eventually('both wait for an answer', () => erp.waiting === 2);
    killed.process.kill('SIGKILL');
    await killed.process.exitCode();
    await eventually('one waits no more', () => erp.waiting === 1);
    release();
    for (let order = 0; order < 2 * MACHINES; order += 1) await postOrder(other.url);

    await outcomes.findAtLeast(posted, 'outcome', () => true);
    const idsOf = (records: readonly ReadRecord[]): (string | undefined)[] =>
      records.map((outcome) => header(outcome, 'ce_id'));
    const called = (): Set<string> =>
      new Set(erp.calls.filter(({ isAnswered }) => isAnswered).map(({ id }) => id));
    await eventually('each outcome is called back, and the call answered', () =>
      idsOf(outcomes.records).every((id) => called().has(id ?? '')),
    );
    expect(new Set(outcomes.records.map(messageIdOf)).size).toBe(posted);
    expect(called().size).toBe(outcomes.records.length);
    for (const machineId of plant.load.machineIds) {
      const published = idsOf(outcomes.records.filter(({ key }) => key?.toString() === machineId));
      const places = erp.calls.map(({ id }) => published.indexOf(id)).filter((at) => at >= 0);
      // a repetition continues in order from an earlier callback: none overtakes another
      const steps = places.map((at, call) => at - (places[call - 1] ?? -1));
      expect([machineId, Math.max(...steps)]).toEqual([machineId, 1]);
    }
  });
});
