import { SetupError } from '../setup/command.mjs';
import { fetchArtifacts } from './artifacts.mjs';
import { smallJvm } from './java.mjs';
import { findJavaWay } from './local-kafka.mjs';

const CLASS = 'org.apache.kafka.tools.consumer.ConsoleConsumer';

/** Program and arguments of Kafka's console consumer; callers add options. See console-consumer.d.mts. */
export function consoleConsumer() {
  return kafkaTool(CLASS);
}

/** The command line of another of Kafka's tools, by its class. */
export async function kafkaTool(className) {
  const way = await findJavaWay();
  if (!way) {
    throw new SetupError(
      "Kafka's own tools need Java 17 or newer, and Maven to fetch it once, " +
        'also where the broker is one of your own or runs in Docker.',
    );
  }
  return [way.java, ...smallJvm(128), '-cp', await fetchArtifacts(way.maven), className];
}
