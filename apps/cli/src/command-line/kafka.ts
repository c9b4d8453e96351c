import {
  type KafkaSettings,
  loadKafkaSettings,
  misspeltSettings,
  readEnvironment,
  SettingsError,
} from '#libs/config';
import { INPUT_TOPICS } from '#libs/contracts';
import {
  type ConfiguredKafka,
  createKafka,
  describeKafkaFailure,
  type KafkaClient,
  topicNames,
} from '#libs/kafka';
import { UnreachableError } from './exit-codes.js';

export const KAFKA_HELP = `
Kafka is found by the KAFKA_… settings of the bridge; without KAFKA_BROKERS at 127.0.0.1:9092.`;

/** The Kafka settings of the bridge; without KAFKA_BROKERS, 127.0.0.1:9092. @throws SettingsError with all problems */
export function commandKafkaSettings(): KafkaSettings {
  const environment = readEnvironment();
  // otherwise the command would use 127.0.0.1 instead of the intended Kafka
  const [misspelt] = misspeltSettings(environment, ['KAFKA_BROKERS']);
  if (misspelt !== undefined) {
    throw new SettingsError([`${misspelt.name} is not a setting: KAFKA_BROKERS is`]);
  }
  const KAFKA_BROKERS = isBrokerNamed() ? environment['KAFKA_BROKERS'] : '127.0.0.1:9092';
  return loadKafkaSettings({ ...environment, KAFKA_BROKERS });
}

/**
 * Connects to Kafka with the settings of the bridge. `existing` has the full names of all topics.
 *
 * @throws SettingsError, or UnreachableError that says why Kafka cannot be reached
 */
export async function openKafka(): Promise<{
  settings: KafkaSettings;
  kafka: ConfiguredKafka;
  existing: string[];
}> {
  const settings = commandKafkaSettings();
  const kafka = createKafka(settings);
  return { settings, kafka, existing: await reachTopics(kafka, settings) };
}

/**
 * Full names of all topics. A command's first request, because later ones may wait for Kafka forever.
 *
 * @throws UnreachableError that says why Kafka cannot be reached
 */
export async function reachTopics(
  kafka: KafkaClient,
  { brokers }: Pick<KafkaSettings, 'brokers'>,
): Promise<string[]> {
  try {
    return await topicNames(kafka);
  } catch (cause) {
    const why = describeKafkaFailure(cause);
    const where = `${brokers.join(', ')}${isBrokerNamed() ? '' : ' (KAFKA_BROKERS is not set)'}`;
    throw new UnreachableError(`Kafka cannot be reached at ${where}: ${why}`, { cause });
  }
}

/** The input topic of that name, with or without the prefix, as a name without it; undefined if there is none. */
export function inputTopicOf(name: string, topicPrefix: string): string | undefined {
  return INPUT_TOPICS.find((each) => [each, `${topicPrefix}${each}`].includes(name));
}

function isBrokerNamed(): boolean {
  return (readEnvironment()['KAFKA_BROKERS']?.trim() ?? '') !== '';
}
