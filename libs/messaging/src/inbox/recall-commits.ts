import { Logger } from '@nestjs/common';
import { realDelayMs, realNowMs } from '#libs/clock';
import { backOffMs } from '#libs/delivery';
import { describeKafkaFailure } from '../client/describe-kafka-failure.js';
import { withAdmin } from '../client/with-admin.js';
import { withDeadline } from '../deadline.js';
import { type Kafka, type TopicPartition } from '../kafkajs.js';
import { topicSpans } from '../reading/topic-span.js';
import { readNote } from './commit-note.js';
import { takenOver, type TakenOver } from './taken-over.js';

/** A coordinator that has just moved is there again within seconds. */
const DEADLINE_MS = 20_000;
const TRY_MS = 5000;
const BACK_OFF = { baseMs: 100, capMs: 1000 };

/**
 * What earlier owners have left of these partitions, by what they have committed and noted beside it, in the order of
 * the partitions. Undefined where that cannot be told: it is done again, which does no harm. Never rejects.
 */
export async function recallCommits(
  kafka: Kafka,
  groupId: string,
  partitions: readonly TopicPartition[],
  signal: AbortSignal,
): Promise<(TakenOver | undefined)[]> {
  const giveUpMs = realNowMs() + DEADLINE_MS;
  let why = 'Kafka did not answer';
  for (let attempt = 1; realNowMs() < giveUpMs && !signal.aborted; attempt += 1) {
    const answer: { left?: (TakenOver | undefined)[] } = {};
    const asked = askFor(kafka, groupId, partitions).then(
      (left) => {
        answer.left = left;
      },
      (error: unknown) => {
        why = describeKafkaFailure(error);
      },
    );
    await withDeadline(asked, TRY_MS);
    if (answer.left !== undefined) return answer.left;
    await realDelayMs(backOffMs(attempt, BACK_OFF), signal).catch(() => undefined);
  }
  if (!signal.aborted) {
    new Logger('Inbox').warn({ msg: 'what is finished already is not known: done again', why });
  }
  return partitions.map(() => undefined);
}

async function askFor(
  kafka: Kafka,
  groupId: string,
  partitions: readonly TopicPartition[],
): Promise<(TakenOver | undefined)[]> {
  const topics = [...new Set(partitions.map(({ topic }) => topic))];
  const [committed, spans] = await Promise.all([
    withAdmin(kafka, (admin) => admin.fetchOffsets({ groupId, topics })),
    Promise.all(topics.map((topic) => topicSpans(kafka, topic))),
  ]);
  return partitions.map(({ topic, partition }) => {
    const known = committed.find((it) => it.topic === topic);
    const commit = known?.partitions.find((it) => it.partition === partition);
    const span = spans.flat().find((it) => it.topic === topic && it.partition === partition);
    if (commit === undefined || span === undefined) return undefined;
    const offset = Number(commit.offset);
    const note = readNote(offset, commit.metadata);
    return takenOver(topic, partition, { offset, start: span.from, end: span.until, ...note });
  });
}
