import { loadFlows, readEnvironment } from '#libs/config';
import { type BridgeTopic, bridgeTopics } from '#libs/contracts';
import { describeTopics, ensureTopics, refusedTopics, type TopicDescription } from '#libs/kafka';
import { type CliCommand, JSON_OPTION, type JsonOptions } from '../command-line/command.js';
import { KAFKA_HELP, openKafka } from '../command-line/kafka.js';
import { print, printRecords, visible, visibleJson } from '../command-line/output.js';

interface CreateOptions extends JsonOptions {
  yes?: boolean;
}

export function addTopicsCommands(program: CliCommand): void {
  const topics = program.addGroup('topics', 'Lists and creates the topics of the bridge.');
  topics
    .command('list')
    .description('Lists the topics that the bridge uses, as they are meant to be and as they are.')
    .option(...JSON_OPTION)
    .addHelpText('after', KAFKA_HELP)
    .action(listTopics);
  topics
    .command('create')
    .description(
      'Creates the topics that are missing, as the bridge would at its start. Without --yes it asks the brokers whether ' +
        'they would, and creates none.',
    )
    .option('--yes', 'really does it')
    .option(...JSON_OPTION)
    .addHelpText(
      'after',
      `
For a bridge that may not create topics (KAFKA_CREATE_TOPICS=false), with a login that may.
${KAFKA_HELP}`,
    )
    .action(createTopics);
}

async function listTopics({ json = false }: JsonOptions): Promise<void> {
  const { planned, actual } = await readTopics();
  const records = planned.map((topic) => recordOf(topic, actual.get(topic.name)));
  printRecords(records, json, {
    heading: [
      'topic',
      'direction',
      'planned policy',
      'policy',
      'partitions',
      'replicas',
      'purpose',
    ],
    cells: ({ name, direction, plannedPolicy, partitions, replicas, config, purpose }) => [
      name,
      direction,
      plannedPolicy,
      partitions === null ? '(missing)' : (config['cleanup.policy'] ?? '(not readable)'),
      String(partitions ?? '-'),
      String(replicas ?? '-'),
      purpose,
    ],
  });
}

function recordOf(
  { name, purpose, direction, cleanupPolicy }: BridgeTopic,
  actual: TopicDescription | undefined,
) {
  const { partitions = null, replicas = null } = actual ?? {};
  const config: Record<string, string> = Object.fromEntries(actual?.config ?? []);
  return { name, purpose, direction, plannedPolicy: cleanupPolicy, partitions, replicas, config };
}

async function createTopics({ yes = false, json = false }: CreateOptions): Promise<void> {
  const { kafka, settings, planned, actual } = await readTopics();
  const missing = planned.filter(({ name }) => !actual.has(name));
  const refused = await refusedTopics(kafka, missing, settings.topicPartitions);
  const isPossible = refused.size === 0;
  const done = yes && isPossible ? 'created' : 'planned';
  if (done === 'created') {
    await ensureTopics(kafka, planned, { create: true, partitions: settings.topicPartitions });
  }
  for (const { name } of missing) {
    const why = refused.get(name);
    const result = why === undefined ? done : 'refused';
    if (json) print(visibleJson({ name, result, why: why ?? null }));
    else print(why === undefined ? `${name}: ${result}` : `${name}: refused: ${visible(why)}`);
  }
  if (!isPossible) throw new Error('the brokers would not create all of them: nothing was created');
  if (json) return;
  if (missing.length === 0) print('No topic is missing.');
  else if (!yes) print('Nothing has been created: add --yes to do it.');
}

/** The planned topics of these settings, as if the bridge may create all of them, and the actual ones. */
async function readTopics() {
  const { settings, kafka } = await openKafka();
  const planned = bridgeTopics({
    kafka: { ...settings, createTopics: true },
    flows: loadFlows(readEnvironment()),
  });
  const names = planned.map(({ name }) => name);
  return { settings, kafka, planned, actual: await describeTopics(kafka, names) };
}
