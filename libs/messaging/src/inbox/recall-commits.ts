import { Logger } from '@nestjs/common';
import { realDelayMs, realNowMs } from '#libs/clock';
import { backOffMs } from '#libs/delivery';
import { describeKafkaFailure } from '../client/describe-kafka-failure.js';
import { withAdmin } from '../client/with-admin.js';
import { withDeadline } from '../deadline.js';
import { type Kafka, type TopicPartition } from '../kafkajs.js';
import { topicSpans } from '../reading/topic-span.js';
import { type CommitNote, readNote } from './commit-note.js';

/** A coordinator that has just moved is there again within seconds. */
const DEADLINE_MS = 20_000;
const TRY_MS = 5000;
const BACK_OFF = { baseMs: 100, capMs: 1000 };

/** What was committed of a partition last; nothing when that is not known. */
export interface LastCommit extends CommitNote {
  /** Below zero when nothing was. */
  offset: number;
  /** The end of the partition now. */
  end: number;
}

type Recalled = (topic: string, partition: number) => LastCommit | undefined;

/**
 * What earlier owners of these partitions have committed, and noted beside it. Where that cannot
 * be told, nothing: it is done again, which does no harm. Never rejects.
 */
export async function recallCommits(
  kafka: Kafka,
  groupId: string,
  partitions: readonly TopicPartition[],
  signal: AbortSignal,
): Promise<Recalled> {
  const giveUpMs = realNowMs() + DEADLINE_MS;
  let why = 'Kafka did not answer';
  for (let attempt = 1; realNowMs() < giveUpMs && !signal.aborted; attempt += 1) {
    const answer: { recalled?: Recalled } = {};
    const asked = askFor(kafka, groupId, partitions).then(
      (recalled) => {
        answer.recalled = recalled;
      },
      (error: unknown) => {
        why = describeKafkaFailure(error);
      },
    );
    await withDeadline(asked, TRY_MS);
    if (answer.recalled !== undefined) return answer.recalled;
    await realDelayMs(backOffMs(attempt, BACK_OFF), signal).catch(() => undefined);
  }
  if (!signal.aborted) {
    new Logger('Inbox').warn({ msg: 'what is finished already is not known: done again', why });
  }
  return () => undefined;
}

async function askFor(
  kafka: Kafka,
  groupId: string,
  partitions: readonly TopicPartition[],
): Promise<Recalled> {
  const topics = [...new Set(partitions.map(({ topic }) => topic))];
  const [committed, spans] = await Promise.all([
    withAdmin(kafka, (admin) => admin.fetchOffsets({ groupId, topics })),
    Promise.all(topics.map((topic) => topicSpans(kafka, topic))),
  ]);
  return (topic, partition) => {
    const known = committed.find((it) => it.topic === topic);
    const commit = known?.partitions.find((it) => it.partition === partition);
    const span = spans.flat().find((it) => it.topic === topic && it.partition === partition);
    if (commit === undefined || span === undefined) return undefined;
    const offset = Number(commit.offset);
    return { offset, end: span.until, ...readNote(offset, commit.metadata) };
  };
}
