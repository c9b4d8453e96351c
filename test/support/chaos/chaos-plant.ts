import type { Environment } from '#libs/config';
import { TOPICS } from '#libs/contracts';
import { AppProcess } from '../app-process.js';
import { testBrokers, TestKafka, uniqueTopicPrefix } from '../kafka.js';
import { startSandbox } from '../running-sandbox.js';
import type { SandboxControl } from '../sandbox-control.js';
import { bridgeEnvironment, groupIdOf } from '../bridge-environment.js';
import { CommandLoad } from './command-load.js';
import { COMMAND_KINDS, TOPIC_OF } from './commands.js';

/** The last three machines of the simulated plant are awkward on purpose, see docs/sandbox.md. */
const AWKWARD_MACHINES = 3;

/** Of the log of each running bridge, when a wait was in vain. */
const LINES_REPORTED = 15;

export interface ChaosPlantOptions {
  machines?: number;
  partitions?: number;
  brokers?: string[];
  /** Nodes of each partition, for topics that are not on all nodes of the cluster. */
  placed?: Record<string, number[][]>;
  /** Bridge settings in addition to those that every test needs. */
  env?: Environment;
}

/** Topics that tests write or read before a bridge has created them. */
const TOPICS_OF_TESTS = [
  TOPICS.workOrderLists,
  TOPICS.workOrders,
  TOPICS.downtimeReasons,
  TOPICS.commandOutcomes,
];

/** What the log says when a process has lost its membership of the group, and its partitions with it. */
const REJOINED = /not aware of this member|consumer ended, starting anew/g;

/** How often, at most, a bridge has repeated calls without a restart: a computer that stands still ends its session. */
export function countRejoins({ output }: AppProcess): number {
  return [...output.matchAll(REJOINED)].length;
}

/** A separate sandbox and topics, with bridges as processes that a test may kill. */
export class ChaosPlant {
  /** All started processes, also those that have ended. */
  readonly bridges: AppProcess[] = [];

  private constructor(
    readonly kafka: TestKafka,
    readonly sandbox: SandboxControl,
    readonly load: CommandLoad,
    private readonly bridgeEnv: Environment,
    private readonly closeSandbox: () => Promise<void>,
  ) {}

  static async open(options: ChaosPlantOptions = {}): Promise<ChaosPlant> {
    const { machines = 60, partitions = 6, brokers = testBrokers() } = options;
    const { placed = {}, env = {} } = options;
    const topicPrefix = uniqueTopicPrefix();
    const sandboxEnv = { SANDBOX_MACHINES: String(machines + AWKWARD_MACHINES) };
    const { control: sandbox, close } = await startSandbox(sandboxEnv);
    const kafka = new TestKafka(brokers, topicPrefix);
    const machineIds = (await sandbox.machines()).map(({ machineId }) => machineId);
    const usable = machineIds.slice(0, machines);
    const load = new CommandLoad(await kafka.steadyProducer(), topicPrefix, usable);
    const bridgeEnv = {
      ...bridgeEnvironment({ brokers, topicPrefix, partitions, sandboxUrl: sandbox.url }),
      BRIDGE_FLOWS: 'work-orders,downtime-reasons',
      ...env,
    };
    for (const [topic, nodes] of Object.entries(placed)) {
      await kafka.topics.createPlaced(topic, ...nodes);
    }
    await kafka.topics.createMissing(partitions, ...TOPICS_OF_TESTS);
    return new ChaosPlant(kafka, sandbox, load, bridgeEnv, close);
  }

  get groupId(): string {
    return groupIdOf(this.kafka.topicPrefix);
  }

  /** Waits until the group is stable with `processes` members. */
  async untilShared(processes: number): Promise<void> {
    await this.reportIfInVain(this.kafka.groups.untilMembers(processes, this.groupId));
  }

  /** Adds to the error of a wait in vain what the load has sent meanwhile and what the running bridges logged last. */
  async reportIfInVain(wait: Promise<unknown>): Promise<void> {
    const { load, bridges } = this;
    const before = load.storedCommands;
    await wait.catch((error: unknown) => {
      const logs = bridges
        .map((bridge, index) => ({ bridge, index }))
        .filter(({ bridge }) => !bridge.hasEnded)
        .map(({ bridge, index }) => `bridge ${index + 1}:\n${bridge.lastLines(LINES_REPORTED)}`);
      const sent = `commands stored meanwhile: ${load.storedCommands - before}; the stream ${load.streamStatus}`;
      throw new Error([String(error), sent, ...logs].join('\n'), { cause: error });
    });
  }

  /** How many commands were rejected. */
  async countDeadLetters(): Promise<number> {
    const counts = COMMAND_KINDS.map((kind) => this.kafka.topics.count(`${TOPIC_OF[kind]}.dlq`));
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  }

  /** Starts one more process of the same group. */
  startBridge(): AppProcess {
    const bridge = new AppProcess('bridge', this.bridgeEnv);
    this.bridges.push(bridge);
    return bridge;
  }

  /** Ends the process started last as a power cut does. */
  killBridge(): void {
    this.bridges.at(-1)?.kill('SIGKILL');
  }

  async close(): Promise<void> {
    await this.load.stop().catch(() => undefined);
    await Promise.all(this.bridges.map((bridge) => bridge.close()));
    // may throw for records that should not have been published; the sandbox must be closed in any case
    await this.kafka.close().finally(this.closeSandbox);
  }
}
