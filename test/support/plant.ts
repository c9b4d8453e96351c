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

/** A sandbox, a bridge in this process and a Kafka client of one's own, all on topics of this test alone. */
export interface Plant {
  kafka: TestKafka;
  sandbox: SandboxControl;
  bridge: Bridge;
  bridgeUrl: string;
  groupId: string;
  /** The time that bridge and sandbox share. */
  clock: Clock;
  /** The same time for another app. */
  clockEnv: Environment;
  /** Restarts the bridge, same group and topics, with `env` beyond the plant's own; until ready, if it is to be. */
  restartBridge: (env?: Environment, options?: { untilReady?: boolean }) => Promise<void>;
  close: () => Promise<void>;
}

export interface PlantOptions {
  /** Bridge settings beyond those every test needs. */
  env?: Environment;
  sandboxEnv?: Environment;
  clockSpeed?: number;
  brokers?: string[];
  /** What is to be there before the bridge. */
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
      // reports what was published and should not have been; the sandbox must not be left running for it
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
  // it has ended by itself, or is closed
  else starting.catch(() => undefined);
  const bridgeUrl = await eventually('the bridge answers', () => bridge.url().catch(() => ''));
  if (isAwaited) await untilReady(bridgeUrl);
  return { bridge, bridgeUrl };
}
