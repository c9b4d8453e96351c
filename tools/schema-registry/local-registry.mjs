import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findJava, findMaven, smallJvm } from '../kafka/java.mjs';
import { spawnGuarded } from '../process/guarded.mjs';
import { anyFreePort } from '../process/ports.mjs';
import { fetchOnce } from '../setup/fetch-once.mjs';
import { LOCAL, runTool, SetupError } from '../setup/command.mjs';

const VERSION = '2.6.13.Final';
const FOLDER = join(LOCAL, 'schema-registry', `apicurio-${VERSION}`);
const UNPACK = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack';
const ARTIFACT = `io.apicurio:apicurio-registry-app:${VERSION}:tar.gz:all`;
/** The path of the API that is compatible with Confluent's. */
const API = '/apis/ccompat/v7';
const START_TIMEOUT_MS = 120_000;

/** Starts an Apicurio Registry from its Maven artifact; it keeps schemas in memory. See local-registry.d.mts. */
export async function startLocalRegistry() {
  const java = await findJava();
  if (!java) throw new SetupError('A schema registry needs Java 17 or newer.');
  await fetchRegistry();
  const port = await anyFreePort();
  let registry = await startOn(port, java);
  return {
    url: `http://127.0.0.1:${port}${API}`,
    port,
    kill: async () => void (await registry.kill()),
    restart: async () => {
      await registry.kill();
      registry = await startOn(port, java);
    },
  };
}

async function fetchRegistry() {
  const what = 'fetching Apicurio Registry with Maven (about 140 MB)';
  await fetchOnce(FOLDER, what, async (unfinished) => {
    const maven = await findMaven();
    if (!maven) throw new SetupError('Maven is needed to fetch the schema registry once.');
    const options = [`-Dartifact=${ARTIFACT}`, `-DoutputDirectory=${unfinished}`];
    // otherwise its marker files would stay in the working directory of the command
    return runTool(maven, ['-B', '-ntp', '-q', UNPACK, ...options], { cwd: unfinished });
  });
}

async function startOn(port, java) {
  const log = join(dirname(FOLDER), `registry-${port}.log`);
  const address = ['-Dquarkus.http.host=127.0.0.1', `-Dquarkus.http.port=${port}`];
  const jar = join(FOLDER, `apicurio-registry-app-${VERSION}-runner.jar`);
  const afterwards = [['rm', '-f', log]];
  const args = [...smallJvm(256), ...address, '-jar', jar];
  const registry = spawnGuarded(java, args, { output: { log }, afterwards });
  const deadline = Date.now() + START_TIMEOUT_MS;
  const ended = registry.exited.then(() => true);
  while (!(await answers(`http://127.0.0.1:${port}${API}/schemas/types`))) {
    if ((await Promise.race([ended, delay(200)])) === true || Date.now() > deadline) {
      await registry.kill();
      throw new SetupError(`The schema registry did not start on port ${port}.`);
    }
  }
  return registry;
}

async function answers(url) {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}
