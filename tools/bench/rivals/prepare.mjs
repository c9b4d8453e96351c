import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findJava, findMaven } from '../../kafka/java.mjs';
import { fetchOnce } from '../../setup/fetch-once.mjs';
import { fetchJars } from '../../setup/maven-jars.mjs';
import { LOCAL, runTool, SetupError } from '../../setup/command.mjs';

const SOURCE = fileURLToPath(new URL('./ParallelConsumer.java', import.meta.url));
const JARS = {
  pom: fileURLToPath(new URL('./pom.xml', import.meta.url)),
  kind: join(LOCAL, 'rivals/jars'),
};

/**
 * Fetches and compiles ParallelConsumer.java with its dependencies, unless this was done before.
 *
 * @returns `{java, classPath}`
 * @throws SetupError if a JDK or Maven is missing, or fails
 */
export async function prepareParallelConsumer() {
  const [java, maven] = [await findJava(), await findMaven()];
  if (!java || !maven) throw new SetupError('The rivals need a JDK, 17 or newer, and Maven.');
  const jars = await fetchJars(maven, "Confluent's Parallel Consumer with Maven (20 MB)", JARS);
  const hash = createHash('sha256')
    .update(jars)
    .update(await readFile(SOURCE));
  const classes = join(LOCAL, `rivals/classes-${hash.digest('hex').slice(0, 8)}`);
  // the compiler is in the same folder as "java"
  const compiler = join(dirname(java), 'javac');
  await fetchOnce(classes, 'compiling its program with javac', (unfinished) =>
    runTool(compiler, ['-cp', jars, '-d', unfinished, SOURCE]),
  );
  return { java, classPath: `${jars}${delimiter}${classes}` };
}
