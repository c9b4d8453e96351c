import { Clock, realEpochMs } from '#libs/clock';
import { type Environment, loadBridgeSettings } from '#libs/config';
import { type Bridge, createBridge } from '../../apps/bridge/src/index.js';
import { askOnceMore } from './ask-once-more.js';
import { bridgeEnvironment, groupIdOf } from './bridge-environment.js';
import { eventually } from './eventually.js';
import { untilReady } from './health.js';
import { testBrokers, TestKafka, uniqueTopicPrefix } from './kafka.js';
import { startSandbox } from './running-sandbox.js';
import type { SandboxControl } from './sandbox-control.js';
import { rememberSecrets } from './secrets.js';

/** A sandbox, a bridge in this process and an independent Kafka client, on topics of this test only. */
export interface Plant {
  kafka: TestKafka;
  sandbox: SandboxControl;
  bridge: Bridge;
  bridgeUrl: string;
  groupId: string;
  /** The time of bridge and sandbox. */
  clock: Clock;
  /** Settings that give another app the same time. */
  clockEnv: Environment;
  /**
   * Restarts the bridge with the same group and topics, and `env` in addition to the plant's settings; waits until it
   * is ready unless told otherwise.
   */
  restartBridge: (env?: Environment, options?: { untilReady?: boolean }) => Promise<void>;
  close: () => Promise<void>;
}

export interface PlantOptions {
  /** Bridge settings in addition to those that every test needs. */
  env?: Environment;
  sandboxEnv?: Environment;
  clockSpeed?: number;
  brokers?: string[];
  /** Prepares Kafka and the sandbox before the bridge starts. */
  prepare?: (kafka: TestKafka, sandbox: SandboxControl) => Promise<void>;
}

export async function startPlant(options: PlantOptions = {}): Promise<Plant> {
  const topicPrefix = uniqueTopicPrefix();
  const brokers = options.brokers ?? testBrokers();
  const speed = options.clockSpeed ?? 1;
  const originSeconds = Math.floor(realEpochMs() / 1000);
  const clockEnv = { CLOCK_SPEED: String(speed), CLOCK_ORIGIN: String(originSeconds) };
  const { control: sandbox, close: closeSandbox } = await startSandbox({
    ...clockEnv,
    ...options.sandboxEnv,
  });
  const groupId = groupIdOf(topicPrefix);
  const environment = {
    ...bridgeEnvironment({ brokers, topicPrefix, partitions: 3, sandboxUrl: sandbox.url }),
    LOG_LEVEL: 'silent',
    ...clockEnv,
    ...options.env,
  };
  rememberSecrets(environment);
  const kafka = new TestKafka(brokers, topicPrefix);
  await options.prepare?.(kafka, sandbox);
  const plant: Plant = {
    kafka,
    sandbox,
    groupId,
    ...(await runBridge(environment)),
    clock: new Clock({ speed, originSeconds }),
    clockEnv,
    restartBridge: async (env, options) => {
      await plant.bridge.close();
      Object.assign(plant, await runBridge({ ...environment, ...env }, options?.untilReady));
    },
    close: async () => {
      await askOnceMore('bridge', plant.bridgeUrl, environment);
      await plant.bridge.close();
      // may throw for records that should not have been published; the sandbox must be closed in any case
      await kafka.close().finally(closeSandbox);
    },
  };
  return plant;
}

async function runBridge(
  environment: Environment,
  isAwaited = true,
): Promise<Pick<Plant, 'bridge' | 'bridgeUrl'>> {
  const bridge = await createBridge(loadBridgeSettings(environment));
  const starting = bridge.start();
  if (isAwaited) await starting;
  // it has ended by itself, or was closed
  else starting.catch(() => undefined);
  const bridgeUrl = await eventually('the bridge answers', () => bridge.url().catch(() => ''));
  if (isAwaited) await untilReady(bridgeUrl);
  return { bridge, bridgeUrl };
}
