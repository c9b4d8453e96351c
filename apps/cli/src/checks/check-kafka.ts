import { randomUUID } from 'node:crypto';
import type { BridgeSettings } from '#libs/config';
import { type BridgeTopic, bridgeTopics, consumedTopics } from '#libs/contracts';
import {
  createKafka,
  describeGroup,
  describeKafkaFailure,
  describeTopics,
  groupOffsets,
  type KafkaClient,
  partitionOf,
  readSpans,
  refusedTopics,
  setGroupOffsets,
  type StoredRecord,
  type TopicDescription,
  topicSpans,
  type TopicSpan,
} from '#libs/kafka';
import { failure, type Finding, passed, unreachable, warning } from '../command-line/findings.js';
import { reachTopics } from '../command-line/kafka.js';
import { counted } from '../command-line/output.js';

const GRANT = 'grant it to the principal of these settings, see ACLs in docs/kafka.md';
/** Equals the threshold of the alert. */
const WORTH_A_WARNING_MESSAGES = 1000;
/** An outage may remain unnoticed until the next day. */
const SHORT_RETENTION_MS = 86_400_000;

/** Reaches Kafka, compares the topics with the plan, and tests the bridge's rights without writing. */
export async function checkKafka(settings: BridgeSettings): Promise<Finding[]> {
  const kafka = createKafka(settings.kafka);
  try {
    await reachTopics(kafka, settings.kafka);
  } catch (error) {
    const { message } = error as Error;
    const remedy =
      'start Kafka, or correct KAFKA_BROKERS and the KAFKA_SSL… and KAFKA_SASL… settings';
    return [unreachable('kafka', message, remedy)];
  }
  const brokers = settings.kafka.brokers.join(', ');
  const planned = bridgeTopics(settings);
  return [
    passed('kafka', `reached at ${brokers}`),
    ...(await topicFindings(kafka, settings, planned)),
    ...(await failureAsFinding('transactional ids', () =>
      tryTransaction(kafka, settings.kafka.groupId),
    )),
    ...(await failureAsFinding('reading', () => tryReading(kafka, settings, planned))),
  ];
}

export async function checkGroup(settings: BridgeSettings): Promise<Finding[]> {
  const kafka = createKafka(settings.kafka);
  const { groupId } = settings.kafka;
  const existing = await reachTopics(kafka, settings.kafka).catch(() => undefined);
  // checkKafka reports this
  if (existing === undefined) return [];
  return failureAsFinding('consumer group', async () => {
    const topics = consumedTopics(bridgeTopics(settings))
      .map(({ name }) => name)
      .filter((name) => existing.includes(name));
    const { state, members } = await describeGroup(kafka, groupId);
    // a bridge creates the topics that it consumes before it joins its group
    if (members > 0 && topics.length === 0) {
      const detail = `${groupId}: ${counted(members, 'member')}, and none of the topics that a bridge with these settings consumes is to be seen`;
      const remedy =
        'set KAFKA_TOPIC_PREFIX and BRIDGE_FLOWS to those of the bridge that runs, or grant the right to Describe its topics';
      return [failure('consumer group', detail, remedy)];
    }
    const offsets = await groupOffsets(kafka, groupId, topics);
    const lag = offsets.reduce((sum, offset) => sum + offset.lag, 0);
    return [
      members > 0
        ? passed('consumer group', `${groupId}: ${state}, ${counted(members, 'member')}`)
        : failure(
            'consumer group',
            `${groupId}: ${state}, nobody consumes`,
            'start the bridge; if one runs, its KAFKA_GROUP_ID is another',
          ),
      lag <= WORTH_A_WARNING_MESSAGES
        ? passed('lag', `${lag} offsets`)
        : warning(
            'lag',
            `${lag} offsets`,
            'see `machine-bridge offsets show`, and the conditions of the bridge',
          ),
    ];
  });
}

/** Checks compacted outputs for partitions that were added after records were written. */
export async function checkKeys(settings: BridgeSettings): Promise<Finding[]> {
  const kafka = createKafka(settings.kafka);
  const existing = await reachTopics(kafka, settings.kafka).catch((): string[] => []);
  const findings: Finding[] = [];
  for (const { name, direction, cleanupPolicy } of bridgeTopics(settings)) {
    if (direction !== 'out' || cleanupPolicy !== 'compact' || !existing.includes(name)) continue;
    const check = `keys of ${name}`;
    const finding = await findMisplacedKeys(kafka, name, check).catch((error: unknown) => {
      const why = describeKafkaFailure(error, { right: 'Read', topics: [name] });
      return warning(
        check,
        `cannot be read: ${why}`,
        'if it is a right, grant it: ACLs in docs/kafka.md',
      );
    });
    findings.push(finding);
  }
  return findings;
}

/** Finds records that are not in the partition of their key: the key's next record goes to another partition. */
async function findMisplacedKeys(
  kafka: KafkaClient,
  topic: string,
  check: string,
): Promise<Finding> {
  const spans = await topicSpans(kafka, topic);
  const found = new Set<string>();
  const signal = AbortSignal.timeout(READ_DEADLINE_MS);
  const onRecords = (records: readonly StoredRecord[]): void => {
    for (const { key, partition, value } of records) {
      if (key === null || partitionOf(key, spans.length) === partition) continue;
      const place = `${String(key)} in partition ${partition}`;
      if (value === null) found.delete(place);
      else found.add(place);
    }
  };
  await readSpans(kafka, spans, { signal, onRecords });
  const [first] = found;
  if (first !== undefined) {
    const detail = `${counted(found.size, 'record')} not in the partition of their key, such as ${first}: readers may take an old one for the latest`;
    const remedy =
      'the topic was given more partitions: with the bridge stopped delete it, see Topics in docs/operations.md';
    return warning(check, detail, remedy);
  }
  const detail = 'each record is in the partition of its key';
  if (!signal.aborted) return passed(check, detail);
  const end = `as far as read in ${READ_DEADLINE_MS / 1000} s`;
  return warning(check, `${detail}, ${end}`, 'nothing, unless the topic was given more partitions');
}

async function topicFindings(
  kafka: KafkaClient,
  { kafka: { createTopics, topicPartitions } }: BridgeSettings,
  planned: readonly BridgeTopic[],
): Promise<Finding[]> {
  return failureAsFinding('topics', async () => {
    const names = planned.map(({ name }) => name);
    const actual = await describeTopics(kafka, names);
    const missing = planned.filter(({ name }) => !actual.has(name));
    const refused = createTopics
      ? await refusedTopics(kafka, missing, topicPartitions)
      : new Map<string, string>();
    return checkTopics({ planned, actual, refused, createTopics });
  });
}

/** Initialises a transactional id of this check, and sends nothing. */
async function tryTransaction(kafka: KafkaClient, groupId: string): Promise<Finding[]> {
  const transactionalId = `${groupId}-check-${randomUUID()}`;
  const producer = kafka.producer({
    transactionalId,
    maxInFlightRequests: 1,
    retry: { retries: 2 },
  });
  try {
    await producer.connect();
    // kafkajs initialises the id with the first transaction, not as it connects
    const transaction = await producer.transaction();
    await transaction.abort();
  } finally {
    await producer.disconnect();
  }
  return [passed('transactional ids', `those that begin with ${groupId} may be used`)];
}

/** Reads the newest record of one partition of each input topic, and joins a group of this check. */
async function tryReading(
  kafka: KafkaClient,
  { kafka: { groupId } }: BridgeSettings,
  planned: readonly BridgeTopic[],
): Promise<Finding[]> {
  const actual = await describeTopics(
    kafka,
    consumedTopics(planned).map(({ name }) => name),
  );
  const offsets = await groupOffsets(kafka, groupId, [...actual.keys()]);
  const filled = offsets.filter(({ first, end }) => end > first);
  const spans = [...actual.keys()].flatMap((topic) => {
    const one = filled.find((each) => each.topic === topic);
    return one === undefined
      ? []
      : [{ topic, partition: one.partition, from: one.end - 1, until: one.end }];
  });
  const signal = AbortSignal.timeout(READ_DEADLINE_MS);
  await readSpans(kafka, spans, { signal, onRecords: () => undefined });
  const [newest] = spans;
  if (newest === undefined) return [passed('reading', 'not tried: the inputs are empty')];
  if (signal.aborted) throw new Error(`no end of it within ${READ_DEADLINE_MS / 1000} s`);
  await joinGroup(kafka, `${groupId}-check-${randomUUID()}`, newest);
  return [passed('reading', `tried on ${spans.map(({ topic }) => topic).join(', ')}`)];
}

const READ_DEADLINE_MS = 30_000;

/** Turns an exception into a finding, so that the other checks are made too. */
async function failureAsFinding(check: string, find: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await find();
  } catch (error) {
    return [failure(check, describeKafkaFailure(error), GRANT)];
  }
}

/** Joins a group as its only member, commits the beginning of a span, and deletes the group where that is allowed. */
async function joinGroup(kafka: KafkaClient, groupId: string, span: TopicSpan): Promise<void> {
  const { topic, partition, from } = span;
  await setGroupOffsets(kafka, { groupId, topic }, new Map([[partition, from]]));
  const admin = kafka.admin();
  await admin.connect();
  // otherwise Kafka deletes it after some days
  await admin.deleteGroups([groupId]).catch(() => undefined);
  await admin.disconnect();
}

const UNLIMITED = '-1';
const KEEP_UNTIL_DELETED = 'set cleanup.policy=[compact,delete],retention.ms=-1,retention.bytes=-1';

interface TopicCheck {
  planned: readonly BridgeTopic[];
  actual: ReadonlyMap<string, TopicDescription>;
  /** Why the brokers would not create a missing topic, as text, by topic. */
  refused: ReadonlyMap<string, string>;
  createTopics: boolean;
}

/** Compares the actual topics with the plan. At least one finding a topic. */
function checkTopics({ planned, actual, ...missing }: TopicCheck): Finding[] {
  return planned.flatMap((topic) => {
    const found = actual.get(topic.name);
    const check = `topic ${topic.name}`;
    if (found === undefined) return [missingTopic(topic, check, missing)];
    const findings = [
      policyFinding(check, topic, found),
      widthFinding(check, topic, found, { planned, actual }),
      replicasFinding(check, found),
      sizeFinding(check, topic, found, actual),
    ].filter((finding) => finding !== undefined);
    return findings.length > 0 ? findings : [passed(check, describeTopic(found))];
  });
}

function describeTopic({ partitions, replicas, config }: TopicDescription): string {
  const known = [...config].map(([name, value]) => `${name}=${value}`);
  const rest = known.length === 0 ? ['configuration not readable'] : known;
  return [counted(partitions, 'partition'), counted(replicas, 'replica'), ...rest].join(', ');
}

function missingTopic(
  { name, isNeeded }: BridgeTopic,
  check: string,
  { refused, createTopics }: Pick<TopicCheck, 'refused' | 'createTopics'>,
): Finding {
  const finding = isNeeded ? failure : warning;
  const why = refused.get(name);
  if (why !== undefined) {
    return finding(
      check,
      `is missing, and the brokers would not create it: ${why}`,
      'grant the right, or create it by hand as `machine-bridge topics` lists it',
    );
  }
  if (createTopics) {
    return warning(
      check,
      'is missing',
      'nothing: the bridge creates it at its start; or run `machine-bridge topics create`',
    );
  }
  return finding(
    check,
    'is missing, or the right to Describe it is; KAFKA_CREATE_TOPICS is false',
    'run `machine-bridge topics create` with a login that may, or grant Describe',
  );
}

function policyFinding(
  check: string,
  { cleanupPolicy, direction }: BridgeTopic,
  { config }: TopicDescription,
): Finding | undefined {
  const policy = config.get('cleanup.policy');
  if (policy === undefined) {
    const remedy = 'grant DescribeConfigs on it, which this check alone needs';
    return warning(check, 'its configuration may not be read', remedy);
  }
  const policies = policy.split(',').map((each) => each.trim());
  const isLimited = ['retention.ms', 'retention.bytes'].some(
    (name) => config.get(name) !== UNLIMITED,
  );
  if (cleanupPolicy === 'delete') {
    if (policies.includes('compact')) {
      const detail = `cleanup.policy is ${policy}: compaction removes messages of the same key`;
      return failure(check, detail, 'set cleanup.policy=delete');
    }
    const retention = config.get('retention.ms');
    const isShort = retention !== UNLIMITED && Number(retention) < SHORT_RETENTION_MS;
    if (direction !== 'in' || !isShort) return undefined;
    const detail = `retention.ms is ${retention}: messages that wait longer are deleted unread`;
    return warning(
      check,
      detail,
      'set retention.ms longer than an outage may last, such as a week',
    );
  }
  if (policies.includes('delete') && isLimited) {
    return failure(
      check,
      `cleanup.policy is ${policy} with a retention: what it is to keep is deleted`,
      cleanupPolicy === 'compact' ? 'set cleanup.policy=compact' : KEEP_UNTIL_DELETED,
    );
  }
  if (cleanupPolicy === 'compact,delete' && !policies.includes('delete')) {
    const detail = 'cleanup.policy is compact: it is shortened by tombstones, which costs more';
    return warning(check, detail, KEEP_UNTIL_DELETED);
  }
  return undefined;
}

function widthFinding(
  check: string,
  { asWideAs = [] }: BridgeTopic,
  { partitions }: TopicDescription,
  { planned, actual }: Pick<TopicCheck, 'planned' | 'actual'>,
): Finding | undefined {
  const wider = asWideAs.find((name) => (actual.get(name)?.partitions ?? 0) > partitions);
  if (wider === undefined) return undefined;
  const isQueue = planned.some(({ name, direction }) => name === wider && direction === 'internal');
  return warning(
    check,
    `has ${partitions} partitions, fewer than ${wider}`,
    isQueue
      ? `if ${wider} was given more after the first orders, the ledger stops: see The order ledger in docs/kafka.md; else nothing`
      : 'nothing: the bridge adds them at its start, for which it needs Alter on this topic',
  );
}

function replicasFinding(
  check: string,
  { replicas, config }: TopicDescription,
): Finding | undefined {
  // brokers never require more than the number of replicas (since Kafka 3.7)
  const inSync = Math.min(Number(config.get('min.insync.replicas') ?? 1), replicas);
  if (replicas === 1 || (inSync > 1 && inSync < replicas)) return undefined;
  const effect =
    inSync === 1
      ? 'what one broker has acknowledged may be lost with it'
      : 'one broker away stops all writes';
  return warning(
    check,
    `min.insync.replicas is ${inSync} of ${replicas}: ${effect}`,
    `set min.insync.replicas=${replicas - 1}`,
  );
}

/**
 * A dead letter is larger than its input by its headers. For the bridge's queues, equal limits are planned, because
 * they have dead letters only after a bug.
 */
function sizeFinding(
  check: string,
  { name, direction }: BridgeTopic,
  { config }: TopicDescription,
  actual: TopicCheck['actual'],
): Finding | undefined {
  const input = actual.get(name.replace(/\.dlq$/, ''));
  const [own, ofInput] = [config, input?.config].map((each) =>
    Number(each?.get('max.message.bytes')),
  );
  if (!name.endsWith('.dlq') || own === undefined || ofInput === undefined) return undefined;
  if (!(own < ofInput || (own === ofInput && direction !== 'internal'))) return undefined;
  const detail = `max.message.bytes is ${own}, that of its input ${ofInput}: dead letters may lack their value`;
  return warning(check, detail, 'set max.message.bytes=16777216');
}
