import { realDelayMs, realNowMs } from '#libs/clock';
import { TOPICS } from '#libs/contracts';
import { type LocalCluster, startLocalCluster } from '../../tools/kafka/local-kafka.mjs';
import type { AppProcess } from '../support/app-process.js';
import { Answers } from '../support/chaos/answers.js';
import { ChaosPlant } from '../support/chaos/chaos-plant.js';
import { CommandLoad } from '../support/chaos/command-load.js';
import { deliveriesOf } from '../support/chaos/deliveries.js';
import { lostReasons, staleLists } from '../support/chaos/delivery-faults.js';
import { OrderLoad, SEVERAL_ORDERS } from '../support/chaos/order-load.js';
import { overlaps } from '../support/chaos/overlaps.js';
import { eventually } from '../support/eventually.js';
import { untilReady } from '../support/health.js';
import type { LoggedCall } from '../support/sandbox-control.js';
import { temporaryFile, temporaryFolder } from '../../libs/config/test/temporary-files.js';

const SEED = Number(process.env['CHAOS_SEED'] ?? 1);
const MINUTES = Number(process.env['CHAOS_MINUTES'] ?? 3);
const NODES = 3;
const MOST_BRIDGES = 3;
const LONGEST_SUSPENSION_MS = 45_000;
const LONGEST_FREEZE_MS = 25_000;
const LONGEST_AWAY_MS = 8000;
const LONGEST_PAUSE_MS = 6000;
/** How much of the time another fault comes within the first two seconds of one. */
const TOGETHER = 0.3;
/** A process that is woken sends within this what it was about to send when it was suspended. */
const WAKING_MS = 1000;

const SERVICE_FAULTS = [
  { status: 503, rate: 0.5, durationSeconds: 8 },
  { status: 503, durationSeconds: 10 },
  { status: 429, retryAfter: 2, rate: 0.5, durationSeconds: 6 },
  { status: 401, rate: 0.3, durationSeconds: 6 },
  { status: 200, body: '<html>', contentType: 'text/html', rate: 0.3, durationSeconds: 6 },
  { latencyMs: 3000, rate: 0.2, durationSeconds: 15 },
  { latencyMs: 12_000, rate: 0.05, durationSeconds: 15 },
  { hang: true, rate: 0.05, durationSeconds: 10 },
  { drop: true, rate: 0.2, durationSeconds: 8 },
  { drop: true, afterApplying: true, rate: 0.2, durationSeconds: 8 },
];

/** Mulberry32: the same numbers from 0 to 1 for the same seed. */
function numbersOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

describe(`what must hold whatever fails (seed ${SEED}, ${MINUTES} minutes)`, () => {
  const random = numbersOf(SEED);
  const bridges: AppProcess[] = [];
  const begunMs = realNowMs();
  /** Sequence numbers of the latest calls before suspended processes went on. */
  const wakings: number[] = [];
  let cluster: LocalCluster;
  let plant: ChaosPlant;
  let commands: CommandLoad;
  let orders: OrderLoad;
  let answers: Answers;
  let calls: LoggedCall[];

  const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)]!;
  const startBridge = (): void => {
    if (bridges.length < MOST_BRIDGES) bridges.push(plant.startBridge());
  };
  /** Takes one out of those that run; there is always another one. */
  const takeBridge = (): AppProcess => {
    const [taken] = bridges.splice(Math.floor(random() * bridges.length), 1);
    if (bridges.length === 0) startBridge();
    return taken!;
  };
  const nodeIsAway = async (end: 'kill' | 'stop'): Promise<void> => {
    const node = pick(cluster.nodes);
    const awayMs = random() * LONGEST_AWAY_MS;
    await node[end]();
    await realDelayMs(awayMs);
    await node.restart();
    await plant.kafka.topics.untilInSync(NODES);
  };

  const FAULTS: Record<string, { weight: number; happen: () => Promise<void> }> = {
    start: {
      weight: 5,
      happen: () => {
        startBridge();
        return Promise.resolve();
      },
    },
    kill: {
      weight: 4,
      happen: async () => {
        const bridge = takeBridge();
        bridge.kill('SIGKILL');
        await bridge.exitCode();
      },
    },
    stop: {
      weight: 3,
      happen: async () => {
        const bridge = takeBridge();
        bridge.kill('SIGTERM');
        expect(await bridge.exitCode()).toBe(0);
      },
    },
    suspend: {
      weight: 3,
      happen: async () => {
        const bridge = pick(bridges);
        bridge.kill('SIGSTOP');
        await realDelayMs(random() * LONGEST_SUSPENSION_MS);
        wakings.push(await plant.sandbox.newestCall());
        bridge.kill('SIGCONT');
      },
    },
    'kill node': { weight: 2, happen: () => nodeIsAway('kill') },
    'stop node': { weight: 2, happen: () => nodeIsAway('stop') },
    'freeze node': {
      weight: 2,
      happen: async () => {
        const node = pick(cluster.nodes);
        node.freeze();
        await realDelayMs(random() * LONGEST_FREEZE_MS);
        node.thaw();
        await plant.kafka.topics.untilInSync(NODES);
      },
    },
    service: {
      weight: 6,
      happen: () => plant.sandbox.addFault({ operation: '*', ...pick(SERVICE_FAULTS) }),
    },
  };
  const names = Object.entries(FAULTS).flatMap(([name, { weight }]) =>
    Array<string>(weight).fill(name),
  );

  const happen = async (name: string): Promise<void> => {
    const atSeconds = Math.round((realNowMs() - begunMs) / 1000);
    process.stdout.write(`${atSeconds} s: ${name}, ${bridges.length} bridges\n`);
    await FAULTS[name]!.happen();
  };

  beforeAll(
    async () => {
      cluster = await startLocalCluster({ dir: temporaryFolder(), nodes: NODES });
      plant = await ChaosPlant.open({
        brokers: cluster.brokers.split(','),
        machines: 40,
        partitions: 4,
        env: {
          ERP_MAPPING_FILE: temporaryFile('mapping.json', [SEVERAL_ORDERS]),
          MACHINE_CLOUD_TIMEOUT_MS: '5000',
          WORK_ORDER_LIST_MAX_MACHINES: '7',
        },
      });
      const { kafka, sandbox, load } = plant;
      const [first, second] = [await kafka.steadyProducer(), await kafka.steadyProducer()];
      commands = new CommandLoad(first, kafka.topicPrefix, load.machineIds.slice(0, 20));
      orders = new OrderLoad(second, kafka.topicPrefix, load.machineIds.slice(20), 60);
      startBridge();
      await bridges[0]!.ready();
      commands.start({ perSecond: 20 });
      orders.start({ perSecond: 20 });
      const untilMs = realNowMs() + MINUTES * 60_000;
      while (realNowMs() < untilMs) {
        const [one, other] = [pick(names), pick(names)];
        const isOfNodes = one.endsWith('node') && other.endsWith('node');
        const isTogether = random() < TOGETHER && one !== other && !isOfNodes;
        const delayMs = random() * 2000;
        await Promise.all([
          happen(one),
          ...(isTogether ? [realDelayMs(delayMs).then(() => happen(other))] : []),
        ]);
        await realDelayMs(random() * LONGEST_PAUSE_MS);
      }
      await sandbox.clearFaults();
      await Promise.all([commands.stop(), orders.stop()]);
      await Promise.all(bridges.map(async (bridge) => untilReady(await bridge.url())));
      answers = new Answers(await kafka.read(TOPICS.commandOutcomes));
      await answers.untilAll([...commands.messageIds, ...orders.sent.keys()], 180_000);
      calls = await sandbox.allCalls();
    },
    (MINUTES + 10) * 60_000,
  );

  afterAll(async () => {
    await Promise.allSettled([commands.stop(), orders.stop()]);
    await plant.close().finally(() => cluster.kill());
  }, 120_000);

  it('no reason is lost, and each machine has the list that was sent last', () => {
    expect(lostReasons(commands.sent('reason'), deliveriesOf('reason', calls))).toEqual([]);
    expect(staleLists(commands.sent('list'), deliveriesOf('list', calls))).toEqual([]);
  });

  it('each machine has the list that follows from the newest of each order', async () => {
    await eventually('the lists are those of the newest orders', async () => {
      for (const { machineId, workingOrders } of await plant.sandbox.machines()) {
        const list = orders.lists.get(machineId) ?? workingOrders;
        expect({ machineId, list: workingOrders }).toEqual({ machineId, list });
      }
      return true;
    });
  });

  it('each message has one final outcome for each order and machine that it names', async () => {
    await eventually('all outcomes', () => {
      for (const [messageId, machineIds] of orders.sent) {
        const answered = answers.finalOf(messageId).map(({ machineId }) => machineId);
        const unanswered = machineIds.filter((machineId) => !answered.includes(machineId));
        expect({ messageId, unanswered }).toEqual({ messageId, unanswered: [] });
      }
      return true;
    });
    expect(answers.repetitions()).toEqual([]);
  });

  it('no two calls are under way for one machine and operation, but for what a woken process sends', () => {
    const wokenMs = wakings.map((sequence) => calls[sequence]?.startedAtMs ?? Infinity);
    const isWaking = ({ startedAtMs: ms }: LoggedCall): boolean =>
      wokenMs.some((since) => ms >= since && ms < since + WAKING_MS);
    expect(overlaps(calls.filter((call) => !isWaking(call)))).toEqual([]);
  });

  it('nothing is rejected', async () => {
    expect(await plant.countDeadLetters()).toBe(0);
    expect(await plant.kafka.topics.count(`${TOPICS.workOrders}.dlq`)).toBe(0);
  });
});
