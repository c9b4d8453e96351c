import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { anyFreePort, nextFreePort } from '../process/ports.mjs';
import { say, SetupError } from '../setup/command.mjs';
import { fetchArtifacts, hasArtifacts } from './artifacts.mjs';
import { BrokerEndedError, startBroker } from './broker-process.mjs';
import { hasData, newClusterId, prepareFolder, moveDataAside } from './data-folder.mjs';
import { endEarlierBroker } from './earlier-broker.mjs';
import { findJava, findMaven } from './java.mjs';

/**
 * The programs that run Kafka without Docker: `{java, maven}`, or undefined. Maven is only needed to fetch Kafka once.
 */
export async function findJavaWay() {
  const java = await findJava();
  if (!java) return undefined;
  if (await hasArtifacts()) return { java, maven: undefined };
  const maven = await findMaven();
  return maven && { java, maven };
}

/**
 * Starts a private Apache Kafka as a local KRaft node; see local-kafka.d.mts. If `preferredPort` is taken, the next
 * free port is used; `port` has no alternative.
 */
export async function startLocalKafka({ dir, port, preferredPort, removeWhenStopped, ...extras }) {
  const installed = await install();
  await endEarlierBroker(dir);
  const self = { id: 1, controllerPort: await anyFreePort() };
  const node = {
    ...installed,
    ...self,
    dir,
    port: port ?? (await (preferredPort ? nextFreePort(preferredPort) : anyFreePort())),
    voters: [self],
    clusterId: newClusterId(),
    listeners: await withPorts(extras.listeners ?? []),
    scramUsers: extras.scramUsers ?? [],
    further: extras.properties,
    systemProperties: extras.systemProperties,
    afterwards: removeWhenStopped ? [['rm', '-rf', dir]] : [],
  };
  return handleOf(node, await startOnOldOrNewData(node));
}

/** Starts several nodes as one cluster, each in a separate folder below `dir`; see local-kafka.d.mts. */
export async function startLocalCluster({ dir, nodes }) {
  const installed = await install();
  const voters = [];
  for (let id = 1; id <= nodes; id += 1) {
    voters.push({ id, port: await anyFreePort(), controllerPort: await anyFreePort() });
  }
  const nothingMore = { listeners: [], scramUsers: [], afterwards: [] };
  const cluster = { ...installed, ...nothingMore, voters, clusterId: newClusterId() };
  // no node logs that it has started before most nodes are there
  const starting = voters.map(async (self) => {
    const node = { ...cluster, ...self, dir: join(dir, `node-${self.id}`) };
    return handleOf(node, await startNode(node));
  });
  const results = await Promise.allSettled(starting);
  const started = results.flatMap(({ value }) => value ?? []);
  const kill = () => Promise.all(started.map((node) => node.kill()));
  const failed = results.find(({ status }) => status === 'rejected');
  if (failed) {
    await kill();
    throw failed.reason;
  }
  const brokers = started.map((node) => node.brokers).join();
  return { brokers, nodes: started, kill: async () => void (await kill()) };
}

async function install() {
  const way = await findJavaWay();
  if (!way)
    throw new SetupError('A local Kafka needs Java 17 or newer, and Maven to fetch it once.');
  return { java: way.java, classPath: await fetchArtifacts(way.maven) };
}

function handleOf(node, started) {
  let broker = started;
  return {
    brokers: `127.0.0.1:${node.port}`,
    ports: Object.fromEntries(node.listeners.map((listener) => [listener.name, listener.port])),
    /** The process id of the present process. */
    pid: () => broker.pid,
    stop: async () => void (await broker.stop()),
    kill: async () => void (await broker.kill()),
    freeze: () => void process.kill(broker.pid, 'SIGSTOP'),
    thaw: () => void process.kill(broker.pid, 'SIGCONT'),
    restart: async () => {
      await broker.stop();
      broker = await startNode(node);
    },
    /** Settles when the present process has ended, for whatever reason. */
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
    const aside = await moveDataAside(node.dir);
    say(
      `  ! Kafka could not start from its earlier data; that is now in ${aside}, starting afresh`,
    );
    return startNode(node);
  }
}

async function startNode(node) {
  await prepareFolder(node);
  // a stopped node may have taken its folder with it: there is nothing to restart from
  if (!existsSync(node.dir)) throw new SetupError(`${node.dir} is gone`);
  return startBroker(node);
}
