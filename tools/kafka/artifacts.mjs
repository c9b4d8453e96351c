import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LOCAL } from '../setup/root.mjs';
import { runTool } from '../setup/run-tool.mjs';
import { step } from '../setup/steps.mjs';

const POM = fileURLToPath(new URL('./pom.xml', import.meta.url));
const COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';

/** The folder of Kafka's jars for this pom.xml; there once `fetchArtifacts` has run. */
export async function artifactsFolder() {
  const version = createHash('sha256')
    .update(await readFile(POM))
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
  if (!existsSync(folder)) {
    await step('fetching Apache Kafka 4.1.1 with Maven (about 45 MB)', async () => {
      const unfinished = `${folder}.${process.pid}`;
      await mkdir(unfinished, { recursive: true });
      await runTool(maven, [
        '-B',
        '-ntp',
        '-q',
        '-f',
        POM,
        COPY,
        `-DoutputDirectory=${unfinished}`,
      ]);
      // another command may have been faster
      await rename(unfinished, folder).catch(() => rm(unfinished, { recursive: true }));
    });
  }
  return join(folder, '*');
}
