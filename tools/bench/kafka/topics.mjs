import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

const PARTITIONS = 6;
const KNOWN_POLL_MS = 100;
// the broker's clock stamps input and outcome, so that their difference is the time of a message
const CONFIG = [{ name: 'message.timestamp.type', value: 'LogAppendTime' }];

/** Runs `body` with a new prefix and these topics, and removes everything with that prefix afterwards. */
export async function withTopics(admin, names, body) {
  const prefix = `bench-${randomUUID().slice(0, 8)}.`;
  try {
    await createTopics(
      admin,
      names.map((name) => prefix + name),
    );
    return await body(prefix);
  } finally {
    await removeAll(admin, prefix);
  }
}

export async function createTopics(admin, topics, numPartitions = PARTITIONS) {
  await admin.createTopics({
    topics: topics.map((topic) => ({ topic, numPartitions, configEntries: CONFIG })),
    waitForLeaders: false,
  });
  while (!(await areKnown(admin, topics))) await delay(KNOWN_POLL_MS);
}

/** Whether the brokers know the topics: a busy broker takes some time, which kafkajs's own wait reports as a failure. */
async function areKnown(admin, topics) {
  try {
    await admin.fetchTopicMetadata({ topics });
    return true;
  } catch (error) {
    if (!['UNKNOWN_TOPIC_OR_PARTITION', 'LEADER_NOT_AVAILABLE'].includes(error.type)) throw error;
    return false;
  }
}

/** The end offset of each partition. */
export async function endOffsets(admin, topic) {
  const ends = [];
  for (const { partition, high } of await admin.fetchTopicOffsets(topic))
    ends[partition] = Number(high);
  return ends;
}

export async function countRecords(admin, topic) {
  const ends = await endOffsets(admin, topic);
  return ends.reduce((sum, end) => sum + end, 0);
}

/** Removes every topic and every group whose name begins with the prefix. */
async function removeAll(admin, prefix) {
  const topics = (await admin.listTopics()).filter((name) => name.startsWith(prefix));
  if (topics.length > 0) await admin.deleteTopics({ topics });
  const { groups } = await admin.listGroups();
  const ids = groups.map(({ groupId }) => groupId).filter((id) => id.startsWith(prefix));
  if (ids.length > 0) await admin.deleteGroups(ids);
}
