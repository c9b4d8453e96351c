import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const OLDEST_JAVA = 17;

/** The first Java 17 or newer of JAVA_HOME and the PATH; undefined when there is none. */
export function findJava(env = process.env) {
  const candidates = [...(env.JAVA_HOME ? [join(env.JAVA_HOME, 'bin/java')] : []), 'java'];
  return candidates.find((java) => javaMajor(java, env) >= OLDEST_JAVA);
}

/** The first Maven that runs; undefined when there is none. */
export function findMaven(env = process.env) {
  const homes = [env.MAVEN_HOME, env.M2_HOME].filter(Boolean);
  const candidates = [...homes.map((home) => join(home, 'bin/mvn')), 'mvn'];
  return candidates.find((maven) => runs(maven, ['-v'], env).status === 0);
}

function javaMajor(java, env) {
  const { stderr, status } = runs(java, ['-version'], env);
  if (status !== 0) return 0;
  // 'openjdk version "17.0.15" 2025-04-15'; Java 8 calls itself "1.8.0"
  return Number(/version "(\d+)/.exec(stderr)?.[1] ?? 0);
}

function runs(command, args, env) {
  return spawnSync(command, args, { env, encoding: 'utf8', timeout: 20_000 });
}
