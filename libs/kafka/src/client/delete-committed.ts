import type { KafkaClient } from './kafka-port.js';
import { withAdmin } from './with-admin.js';

/** The topic's policy, or a missing right, does not let records be deleted: nothing that passes by itself. */
export class MayNotDeleteError extends Error {
  constructor(
    readonly topic: string,
    /** The broker's answer. */
    readonly why: string,
  ) {
    super(`records of ${topic} may not be deleted: ${why}`);
    this.name = 'MayNotDeleteError';
  }
}

const NOT_ALLOWED = /^(POLICY_VIOLATION|.*_AUTHORIZATION_FAILED|UNSUPPORTED_VERSION)$/;

/**
 * Deletes the records of a topic that its only group has finished: in each partition those before the committed offset.
 *
 * @throws MayNotDeleteError where the broker does not allow it, also while there is nothing to be deleted
 */
export async function deleteCommitted(
  kafka: KafkaClient,
  groupId: string,
  topic: string,
): Promise<void> {
  await withAdmin(kafka, async (admin) => {
    const spans = await admin.fetchTopicOffsets(topic);
    const committed = new Map<number, number>();
    for (const { partitions } of await admin.fetchOffsets({ groupId, topics: [topic] })) {
      for (const { partition, offset } of partitions) committed.set(partition, Number(offset));
    }
    const partitions = spans.map(({ partition, low, high }) => {
      const done = Math.min(Number(high), committed.get(partition) ?? -1);
      return { partition, offset: String(Math.max(Number(low), done)) };
    });
    try {
      await admin.deleteTopicRecords({ topic, partitions });
    } catch (error) {
      const answer = answersIn(error).find((each) => NOT_ALLOWED.test(each));
      throw answer === undefined ? error : new MayNotDeleteError(topic, answer);
    }
  });
}

/** The broker's answers by partition, which kafkajs has in the cause of its error. */
function answersIn(error: unknown): string[] {
  const answers: unknown[] = [];
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { type, partitions = [] } = cause as {
      type?: unknown;
      partitions?: readonly { error?: { type?: unknown } }[];
    };
    answers.push(type, ...partitions.map((each) => each.error?.type));
  }
  return answers.map(String);
}
