import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fetchOnce } from './fetch-once.mjs';
import { runTool } from './command.mjs';

const COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';

/**
 * The folder for the jars that a pom.xml depends on; {@link fetchJars} fills it.
 *
 * `jars`: `pom`; `kind`, the beginning of the folder's path; `options` for Maven
 */
export async function folderOfJars({ pom, kind, options = [] }) {
  const hash = createHash('sha256').update(await readFile(pom));
  return `${kind}-${hash.update(options.join(' ')).digest('hex').slice(0, 8)}`;
}

/** Fetches the jars unless they are there. Yields Java's class path. */
export async function fetchJars(maven, what, jars) {
  const folder = await folderOfJars(jars);
  await fetchOnce(folder, `fetching ${what}`, (unfinished) => {
    const { pom, options = [] } = jars;
    const args = ['-B', '-ntp', '-q', '-f', pom, COPY, `-DoutputDirectory=${unfinished}`];
    return runTool(maven, [...args, ...options]);
  });
  return join(folder, '*');
}
