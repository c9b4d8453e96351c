import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LOCAL } from '../setup/root.mjs';
import { runTool } from '../setup/run-tool.mjs';
import { step } from '../setup/steps.mjs';
import { removeLeftFolders } from './left-folders.mjs';

const POM = fileURLToPath(new URL('./pom.xml', import.meta.url));
/** Another version than that of the pom.xml; a Kafka in Docker is of it too, see docker-compose.yml. */
const { KAFKA_VERSION = '' } = process.env;
/** What a process has begun to fetch, by its number. */
const UNFINISHED = /^artifacts-[0-9a-f]+\.(\d+)$/;
const COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';

/** The folder of Kafka's jars for this pom.xml; there once `fetchArtifacts` has run. */
export async function artifactsFolder() {
  const version = createHash('sha256')
    .update(await readFile(POM))
    .update(KAFKA_VERSION)
    .digest('hex')
    .slice(0, 8);
  return join(LOCAL, 'kafka', `artifacts-${version}`);
}

export async function hasArtifacts() {
  return existsSync(await artifactsFolder());
}

/** Fetches Kafka's jars with Maven, unless they are there. Yields Java's class path. */
export async function fetchArtifacts(maven) {
  const folder = await artifactsFolder();
  // of commands that were interrupted while they fetched
  await removeLeftFolders(dirname(folder), UNFINISHED);
  if (!existsSync(folder)) {
    await step(`fetching Apache Kafka ${KAFKA_VERSION || '4.1.1'} with Maven (about 45 MB)`, () =>
      fetchInto(folder, maven),
    );
  }
  return join(folder, '*');
}

async function fetchInto(folder, maven) {
  const unfinished = `${folder}.${process.pid}`;
  // in a container an earlier process may have had the same number
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { recursive: true });
  try {
    const args = ['-B', '-ntp', '-q', '-f', POM, COPY, `-DoutputDirectory=${unfinished}`];
    if (KAFKA_VERSION) args.push(`-Dkafka.version=${KAFKA_VERSION}`);
    await runTool(maven, args);
    // another command may have been faster
    await rename(unfinished, folder).catch(() => undefined);
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}
