import { join } from 'node:path';
import { answers } from '../process/ports.mjs';
import { LOCAL, say, SetupError, step } from '../setup/command.mjs';
import { dockerAnswers, startDockerKafka } from './docker-kafka.mjs';
import { findJavaWay, startLocalKafka } from './local-kafka.mjs';
import { artifactsFolder } from './artifacts.mjs';
import { removeLeftFolders } from '../setup/left-folders.mjs';

const FOLDER = join(LOCAL, 'kafka');
const NO_KAFKA = `Apache Kafka is needed, and none of the three ways to one applies:
  1. a broker of your own: set KAFKA_BROKERS, for instance KAFKA_BROKERS=127.0.0.1:9092
  2. Docker: install and start it (with "docker compose"); the apache/kafka image is then used by itself
  3. Java 17 or newer and Maven: install both (Debian/Ubuntu: apt install openjdk-17-jdk-headless maven;
     macOS: brew install openjdk maven); Kafka is then fetched from Maven Central and run below .local/
Then run the command again.`;

/**
 * Finds the Kafka to use, by the first that applies: KAFKA_BROKERS, Docker, Java with Maven. `purpose` is `start` (data
 * stays) or `test` (a new Kafka, deleted afterwards). Yields `{brokers, how, consumer, stop, kill, ended}`; `consumer`
 * is the command line of a console consumer.
 *
 * @throws SetupError when there is no Kafka
 */
export async function findKafka(purpose) {
  if (process.env.KAFKA_BROKERS) return givenKafka(process.env.KAFKA_BROKERS);
  if (await dockerAnswers()) {
    const kafka = await startDockerKafka(purpose);
    const script = '/opt/kafka/bin/kafka-console-consumer.sh --bootstrap-server kafka:19092';
    const consumer = `docker ${kafka.compose.join(' ')} exec kafka ${script}`;
    return { ended: never, ...kafka, how: 'Docker', consumer };
  }
  if (await findJavaWay()) return javaKafka(purpose);
  throw new SetupError(NO_KAFKA);
}

async function givenKafka(brokers) {
  const checks = brokers.split(',').map((broker) => {
    const [, host, port] = /^\s*(.+):(\d+)\s*$/.exec(broker) ?? [];
    return host && answers(host.replace(/^\[|\]$/g, ''), Number(port), 5000);
  });
  if (!(await Promise.all(checks)).some(Boolean)) {
    throw new SetupError(
      `KAFKA_BROKERS is ${brokers}, but none of these accepts a connection.\n` +
        'Start that Kafka, correct the address (host:port, several separated by commas), or unset KAFKA_BROKERS.',
    );
  }
  const nothing = async () => {};
  const consumer = `kafka-console-consumer.sh --bootstrap-server ${brokers}`;
  return { brokers, how: 'KAFKA_BROKERS', consumer, stop: nothing, kill: nothing, ended: never };
}

async function javaKafka(purpose) {
  const fresh = purpose === 'test';
  if (fresh) await removeLeftData();
  const dir = join(FOLDER, fresh ? `test-${process.pid}` : 'start');
  const kafka = await step('starting Kafka with Java', () =>
    startLocalKafka({ dir, ...(!fresh && { preferredPort: 9092 }), removeWhenStopped: fresh }),
  );
  // the data of a test is deleted: Kafka need not write it out first
  const stop = fresh ? kafka.kill : kafka.stop;
  // without the option, 130 lines of settings come first
  const consumer =
    `java -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp '${await artifactsFolder()}/*' ` +
    `org.apache.kafka.tools.consumer.ConsoleConsumer --bootstrap-server ${kafka.brokers}`;
  return { ...kafka, stop, how: `Java, data in ${dir}`, consumer };
}

/** Removes data of test runs that were killed together with their guard. */
async function removeLeftData() {
  const left = await removeLeftFolders(FOLDER, /^test-(\d+)$/);
  if (left > 0) say(`  ✔ removed the Kafka data of ${left} broken-off test runs`);
}

function never() {
  return new Promise(() => undefined);
}
