import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LOCAL } from '../setup/command.mjs';
import { fetchJars, folderOfJars } from '../setup/maven-jars.mjs';

const POM = fileURLToPath(new URL('./pom.xml', import.meta.url));
/** Replaces the version in pom.xml; Kafka in Docker takes this version, too, see docker-compose.yml. */
const { KAFKA_VERSION = '' } = process.env;
const KAFKA = {
  pom: POM,
  kind: join(LOCAL, 'kafka/artifacts'),
  options: KAFKA_VERSION ? [`-Dkafka.version=${KAFKA_VERSION}`] : [],
};

/** The folder of Kafka's jars for this pom.xml. It exists after `fetchArtifacts`. */
export function artifactsFolder() {
  return folderOfJars(KAFKA);
}

export async function hasArtifacts() {
  return existsSync(await artifactsFolder());
}

/** Fetches Kafka's jars with Maven, unless they are there. Yields Java's class path. */
export function fetchArtifacts(maven) {
  const what = `Apache Kafka ${KAFKA_VERSION || '4.1.1'} with Maven (about 45 MB)`;
  return fetchJars(maven, what, KAFKA);
}
