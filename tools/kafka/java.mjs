import { join } from 'node:path';
import { probe } from '../process/probe.mjs';

const OLDEST_JAVA = 17;

/** Options for a JVM that shares the computer: without a bound it would reserve a quarter of the memory. */
export const smallJvm = (megabytes) => [
  `-Xmx${megabytes}m`,
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
];

/** The first Java 17 or newer of JAVA_HOME and the PATH; undefined if there is none. */
export async function findJava(env = process.env) {
  const candidates = [...(env.JAVA_HOME ? [join(env.JAVA_HOME, 'bin/java')] : []), 'java'];
  return first(candidates, async (java) => (await javaMajor(java, env)) >= OLDEST_JAVA);
}

/** The first Maven that runs; undefined if there is none. */
export async function findMaven(env = process.env) {
  const folders = [env.MAVEN_HOME, env.M2_HOME].filter(Boolean);
  const candidates = [...folders.map((home) => join(home, 'bin/mvn')), 'mvn'];
  return first(candidates, async (maven) => (await probe(maven, ['-v'], { env })) !== undefined);
}

async function first(candidates, fits) {
  for (const candidate of candidates) if (await fits(candidate)) return candidate;
  return undefined;
}

async function javaMajor(java, env) {
  const said = await probe(java, ['-version'], { env });
  // 'openjdk version "17.0.15" 2025-04-15'; Java 8 calls itself "1.8.0"
  return Number(/version "(\d+)/.exec(said?.stderr)?.[1] ?? 0);
}
