import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { spawnGuarded } from '../process/guarded.mjs';
import { lastLines, LOCAL, runTool, SetupError, step } from '../setup/command.mjs';
import { installDebianPackages } from '../setup/debian-packages.mjs';

const FOLDER = join(LOCAL, 'deploy/docker');
const START_TIMEOUT_MS = 60_000;
const NO_ENGINE = `No Docker engine answers, and this user cannot start one. Start one and see that "docker info" answers,
or, on Debian, run this as root: the package docker.io is then installed and its engine started for the test alone.`;

/**
 * The running Docker engine, otherwise an engine of Debian's docker.io, which ends with this process and keeps its
 * images in .local. `isOwn` is true if this process started it.
 */
export async function findDockerEngine(shutdown) {
  if (answers(process.env)) return dockerOf(process.env, false);
  if (process.getuid?.() !== 0) throw new SetupError(NO_ENGINE);
  await installDebianPackages({ dockerd: 'docker.io', docker: 'docker.io', iptables: 'iptables' });
  await mkdir(FOLDER, { recursive: true });
  // a path in .local may be too long for a socket
  const sockets = await mkdtemp(join(tmpdir(), 'machine-bridge-docker-'));
  const host = `unix://${sockets}/docker.sock`;
  const log = join(FOLDER, 'log');
  const args = ['--host', host, '--data-root', join(FOLDER, 'data'), '--exec-root', sockets];
  const engine = spawnGuarded('dockerd', [...args, '--pidfile', join(FOLDER, 'pid')], {
    output: { log },
    graceMs: 30_000,
    // the engine leaves this mounted
    afterwards: [
      ['umount', join(sockets, 'netns/default')],
      ['rm', '-rf', sockets],
    ],
  });
  shutdown.add('The Docker engine', engine.stop, engine.kill);
  const env = { ...process.env, DOCKER_HOST: host };
  await step('starting a Docker engine', () => untilAnswers(engine, env, log));
  const own = dockerOf(env, true);
  await removeLeftovers(own);
  return own;
}

/** Removes containers, networks and volumes of a killed run, and image stages that were last changed a week ago. */
async function removeLeftovers({ docker }) {
  for (const kind of ['container', 'network', 'volume']) await docker(kind, 'prune', '--force');
  await docker('image', 'prune', '--force', '--filter', 'until=168h');
}

function dockerOf(env, isOwn) {
  return {
    env,
    isOwn,
    /** Standard output of `docker ARGS`. @throws SetupError with the last lines of its output */
    docker: (...args) => runTool('docker', args, { env }),
  };
}

function answers(env) {
  const { status } = spawnSync('docker', ['info'], { env, stdio: 'ignore', timeout: 15_000 });
  return status === 0;
}

async function untilAnswers(engine, env, log) {
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!answers(env)) {
    const ended = await Promise.race([engine.exited, delay(200)]);
    if (!ended && Date.now() < deadline) continue;
    const lines = lastLines(await readFile(log, 'utf8'), 20).join('\n');
    throw new SetupError(`The Docker engine does not start. Its last lines, of ${log}:\n${lines}`);
  }
}
