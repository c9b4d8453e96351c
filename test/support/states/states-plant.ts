import { Clock, realEpochMs } from '#libs/clock';
import type { Environment } from '#libs/config';
import { AppProcess } from '../app-process.js';
import { bridgeEnvironment, groupIdOf } from '../bridge-environment.js';
import { eventually } from '../eventually.js';
import { TestKafka, uniqueTopicPrefix } from '../kafka.js';
import { startSandbox } from '../running-sandbox.js';
import type { SandboxControl } from '../sandbox-control.js';
import { EventfulLife } from './eventful-life.js';

const DEFAULT_PARTITIONS = 6;
/** Longer than most tests, at sixty times the speed. */
const DEFAULT_HOURS = 6;

export interface StatesPlantOptions {
  brokers: readonly string[];
  machines: number;
  clockSpeed: number;
  /** Partitions of all created topics; 6 by default. */
  partitions?: number;
  /** How long machines change their states, in the plant's time; 6 by default. */
  hours?: number;
  /** Bridge settings in addition to those that every test needs. */
  env?: Environment;
}

/** A sandbox with many state changes, and bridges that watch it, as processes that a test may kill. */
export class StatesPlant {
  /** All started processes, also those that have ended. */
  readonly bridges: AppProcess[] = [];

  private constructor(
    readonly kafka: TestKafka,
    readonly sandbox: SandboxControl,
    /** The time of sandbox and bridges. */
    readonly clock: Clock,
    readonly life: EventfulLife,
    readonly partitions: number,
    private readonly bridgeEnv: Environment,
    private readonly closeSandbox: () => Promise<void>,
  ) {}

  static async open(options: StatesPlantOptions): Promise<StatesPlant> {
    const { brokers, machines, clockSpeed, env = {} } = options;
    const { partitions = DEFAULT_PARTITIONS, hours = DEFAULT_HOURS } = options;
    const topicPrefix = uniqueTopicPrefix();
    const originSeconds = Math.floor(realEpochMs() / 1000);
    const clockEnv = { CLOCK_SPEED: String(clockSpeed), CLOCK_ORIGIN: String(originSeconds) };
    const life = new EventfulLife(originSeconds, machines, hours);
    const { control: sandbox, close } = await startSandbox(clockEnv);
    await sandbox.playTimeline(life.script);
    await sandbox.setOptions({ durationJitter: true });
    const kafka = new TestKafka([...brokers], topicPrefix);
    const bridgeEnv = {
      ...bridgeEnvironment({ brokers, topicPrefix, partitions, sandboxUrl: sandbox.url }),
      BRIDGE_FLOWS: 'machine-states',
      ...clockEnv,
      ...env,
    };
    const clock = new Clock({ speed: clockSpeed, originSeconds });
    return new StatesPlant(kafka, sandbox, clock, life, partitions, bridgeEnv, close);
  }

  get machineIds(): string[] {
    return this.life.script.machines.map(({ machineId }) => machineId);
  }

  /** Starts one more process of the same group. */
  startBridge(): AppProcess {
    const bridge = new AppProcess('bridge', this.bridgeEnv);
    this.bridges.push(bridge);
    return bridge;
  }

  /** Waits until the group is stable with `processes` members. */
  async untilShared(processes: number): Promise<void> {
    await this.kafka.groups.untilMembers(processes, groupIdOf(this.kafka.topicPrefix));
  }

  /** Waits until the service has got this number of further polls, whatever it answered. */
  async untilPolled(times: number): Promise<void> {
    const since = await this.sandbox.newestCall();
    await eventually(
      `${times} polls`,
      async () => (await this.sandbox.countCalls('getMachineState', since, times)) === times,
    );
  }

  /** Waits until the service has answered a further poll of each machine: all of them are watched. */
  async untilAllAnswered(): Promise<void> {
    const missing = new Set(this.machineIds);
    let last = await this.sandbox.newestCall();
    await eventually('the service answers for every machine', async () => {
      for (const call of await this.sandbox.allCalls(last)) {
        last = call.sequence;
        const isAnswer = call.status === 200 || call.status === 204;
        if (call.operation !== 'getMachineState' || !isAnswer) continue;
        for (const machineId of call.machineIds) missing.delete(machineId);
      }
      if (missing.size > 0) throw new Error(`${missing.size} wait, like ${[...missing][0] ?? ''}`);
      return true;
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.bridges.map((bridge) => bridge.close()));
    await this.closeSandbox();
    await this.kafka.close();
  }
}
