import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { artifactsFolder, fetchArtifacts } from '../kafka/artifacts.mjs';
import { findMaven } from '../kafka/java.mjs';
import { anyFreePort } from '../process/ports.mjs';
import { lastLines, LOCAL, ROOT, runTool } from '../setup/command.mjs';
import {
  checkListIsApplied,
  checkPostIsApplied,
  expectEqual,
  untilReady,
} from './check-images.mjs';
import { goTool } from './go-tools.mjs';

const FOLDER = join(LOCAL, 'deploy/compose');
const KAFKA_IMAGE = 'machine-bridge-test/kafka';
const SERVICES = ['sandbox', 'bridge', 'terminal', 'ingest'];
const PORTS = ['KAFKA_HOST_PORT', ...SERVICES.map((app) => `${app.toUpperCase()}_HTTP_PORT`)];

/**
 * Checks docker-compose.yml: `build`, `up`, health of all services, applied lists, `stop`. An engine that was started
 * here reaches no image registry; its Kafka then comes from Maven, with the settings of the compose file.
 *
 * @param nodeImage base image of the apps; undefined for that of the compose file
 */
export async function checkCompose(check, shutdown, engine, nodeImage) {
  const compose = await composeCommand(engine);
  await rm(FOLDER, { recursive: true, force: true });
  await mkdir(FOLDER, { recursive: true });
  const files = ['--file', join(ROOT, 'docker-compose.yml')];
  if (engine.isOwn) {
    await check('image with the Kafka of Maven, for the compose file', () =>
      buildKafkaImage(engine, nodeImage),
    );
    const override = join(FOLDER, 'override.yml');
    await writeFile(override, JSON.stringify({ services: { kafka: { image: KAFKA_IMAGE } } }));
    files.push('--file', override);
  }
  const ports = {};
  for (const name of PORTS) ports[name] = String(await anyFreePort());
  const project = `machine-bridge-test-${process.pid}`;
  const env = { ...engine.env, ...ports, ...(nodeImage && { NODE_IMAGE: nodeImage }) };
  const run = (...args) =>
    runTool(compose[0], [...compose.slice(1), '--project-name', project, ...files, ...args], {
      env,
      cwd: ROOT,
    });
  const down = () => run('down', '--volumes', '--rmi', 'local', '--timeout', '20');
  shutdown.add('The compose file', down, down);
  await check('docker compose build', () => run('build', ...SERVICES));
  await check('docker compose up: health, lists applied, SIGTERM, read-only root', async () => {
    try {
      return await checkServices(engine, run, ports);
    } catch (error) {
      const logs = await run('logs', '--no-color', '--tail', '15').catch(() => '');
      throw new Error(`${error.message}\n${lastLines(logs).join('\n')}`, { cause: error });
    } finally {
      await down();
    }
  });
}

async function checkServices({ docker }, run, ports) {
  await run('up', '--no-build', '--detach', '--wait', '--wait-timeout', '180');
  const at = (name) => `http://127.0.0.1:${ports[name]}`;
  await untilReady(`${at('BRIDGE_HTTP_PORT')}/health/ready`);
  await untilReady(`${at('TERMINAL_HTTP_PORT')}/health/ready`);
  await checkListIsApplied(`127.0.0.1:${ports.KAFKA_HOST_PORT}`, at('SANDBOX_HTTP_PORT'));
  const headers = { authorization: 'Bearer demo-ingest-token' };
  await checkPostIsApplied(at('INGEST_HTTP_PORT'), at('SANDBOX_HTTP_PORT'), headers);
  const containers = {};
  for (const app of SERVICES) containers[app] = (await run('ps', '--quiet', app)).trim();
  await run('stop', ...SERVICES);
  for (const [app, id] of Object.entries(containers)) {
    const [{ State, HostConfig }] = JSON.parse(await docker('inspect', id));
    expectEqual([app, State.ExitCode, HostConfig.ReadonlyRootfs], [app, 0, true]);
  }
}

/** Docker's plugin `compose` if there is one, otherwise the program built from its Go module. */
async function composeCommand({ env }) {
  const plugin = await runTool('docker', ['compose', 'version'], { env }).catch(() => undefined);
  return plugin ? ['docker', 'compose'] : [await goTool('compose')];
}

async function buildKafkaImage({ docker }, nodeImage) {
  const context = join(FOLDER, 'kafka');
  await cp(join(ROOT, 'tools/deploy/kafka-image'), context, { recursive: true });
  await fetchArtifacts(await findMaven());
  await cp(await artifactsFolder(), join(context, 'libs'), { recursive: true });
  await docker('build', '--build-arg', `NODE_IMAGE=${nodeImage}`, '--tag', KAFKA_IMAGE, context);
}
