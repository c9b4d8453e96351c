import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { spawnGuarded } from '../process/guarded.mjs';
import { nextFreePort } from '../process/ports.mjs';
import { probe } from '../process/probe.mjs';
import { LOCAL, ROOT, runTool, step } from '../setup/command.mjs';

const PROJECTS = { start: 'machine-bridge', test: 'machine-bridge-test' };

/** Whether a Docker engine answers and the client supports `docker compose`. */
export async function dockerAnswers() {
  return Boolean(
    (await probe('docker', ['info'])) && (await probe('docker', ['compose', 'version'])),
  );
}

/** Starts the `kafka` service of docker-compose.yml; for `test` in a separate project that leaves no data behind. */
export async function startDockerKafka(purpose) {
  const compose = ['compose', '-p', PROJECTS[purpose]];
  const running = await addressOfRunning(compose);
  if (running) return { brokers: running, compose, stop: async () => {}, kill: async () => {} };
  const port = await nextFreePort(9092);
  const env = { ...process.env, KAFKA_HOST_PORT: String(port) };
  const up = ['up', '-d', '--wait', 'kafka'];
  await step('starting Kafka with Docker (the first time fetches its image)', () =>
    runTool('docker', [...compose, ...up], { cwd: ROOT, env }),
  );
  const follower = await followLogs(compose, env, purpose);
  return {
    brokers: `127.0.0.1:${port}`,
    compose,
    stop: follower.stop,
    kill: follower.kill,
    ended: () => follower.exited,
  };
}

/** Follows the container's log. Its guard stops the container when this process ends, however it ends. */
async function followLogs(compose, env, purpose) {
  await mkdir(join(LOCAL, 'kafka'), { recursive: true });
  const end = purpose === 'test' ? ['down', '-v'] : ['stop', 'kafka'];
  return spawnGuarded('docker', [...compose, 'logs', '-f', '--no-log-prefix', 'kafka'], {
    cwd: ROOT,
    env,
    output: { log: join(LOCAL, 'kafka', `docker-${purpose}.log`) },
    afterwards: [['docker', ...compose, ...end]],
  });
}

async function addressOfRunning(compose) {
  const args = [...compose, 'port', 'kafka', '9092'];
  const address = (await probe('docker', args, { cwd: ROOT }))?.stdout.trim() ?? '';
  return /^[\d.]+:\d+$/.test(address) ? address : undefined;
}
