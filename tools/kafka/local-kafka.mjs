import { existsSync } from 'node:fs';
import { anyFreePort, nextFreePort } from '../process/ports.mjs';
import { SetupError, say } from '../setup/steps.mjs';
import { fetchArtifacts, hasArtifacts } from './artifacts.mjs';
import { BrokerEndedError, startBroker } from './broker-process.mjs';
import { hasData, prepareFolder, setDataAside } from './data-folder.mjs';
import { endEarlierBroker } from './earlier-broker.mjs';
import { findJava, findMaven } from './java.mjs';

/** What it takes to run Kafka without Docker: `{java, maven}`, or undefined. Maven is only needed to fetch Kafka once. */
export async function findJavaWay() {
  const java = findJava();
  if (!java) return undefined;
  if (await hasArtifacts()) return { java, maven: undefined };
  const maven = findMaven();
  return maven && { java, maven };
}

/**
 * Starts an Apache Kafka of one's own as a local KRaft node; see local-kafka.d.mts.
 * `preferredPort` is tried first and gives way to the next free one; `port` is taken as it is.
 */
export async function startLocalKafka({ dir, port, preferredPort, removeWhenStopped, ...extras }) {
  const way = await findJavaWay();
  if (!way)
    throw new SetupError('A local Kafka needs Java 17 or newer, and Maven to fetch it once.');
  const classPath = await fetchArtifacts(way.maven);
  await endEarlierBroker(dir);
  const node = {
    dir,
    java: way.java,
    classPath,
    port: port ?? (await (preferredPort ? nextFreePort(preferredPort) : anyFreePort())),
    controllerPort: await anyFreePort(),
    listeners: await withPorts(extras.listeners ?? []),
    scramUsers: extras.scramUsers ?? [],
    afterwards: removeWhenStopped ? [['rm', '-rf', dir]] : [],
  };
  let broker = await startOnOldOrNewData(node);
  return {
    brokers: `127.0.0.1:${node.port}`,
    ports: Object.fromEntries(node.listeners.map((listener) => [listener.name, listener.port])),
    /** The process of now. */
    pid: () => broker.pid,
    stop: async () => void (await broker.stop()),
    kill: async () => void (await broker.kill()),
    freeze: () => void process.kill(broker.pid, 'SIGSTOP'),
    thaw: () => void process.kill(broker.pid, 'SIGCONT'),
    restart: async () => {
      await broker.stop();
      broker = await startNode(node);
    },
    /** Settles when the process of now has ended, whoever ended it. */
    ended: () => broker.exited,
  };
}

async function withPorts(listeners) {
  const chosen = [];
  for (const listener of listeners) chosen.push({ ...listener, port: await anyFreePort() });
  return chosen;
}

async function startOnOldOrNewData(node) {
  const hadData = await hasData(node.dir);
  try {
    return await startNode(node);
  } catch (error) {
    if (!hadData || !(error instanceof BrokerEndedError)) throw error;
    const aside = await setDataAside(node.dir);
    say(
      `  ! Kafka could not start from its earlier data; that is now in ${aside}, starting afresh`,
    );
    return startNode(node);
  }
}

async function startNode(node) {
  await prepareFolder(node);
  // a stopped node may have taken its folder with it: nothing is left to restart from
  if (!existsSync(node.dir)) throw new SetupError(`${node.dir} is gone`);
  return startBroker(node);
}
