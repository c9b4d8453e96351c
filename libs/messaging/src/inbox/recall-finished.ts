import { Logger } from '@nestjs/common';
import { type Kafka, type TopicPartition } from 'kafkajs';
import { FinishedAhead } from '#libs/delivery';
import { withAdmin } from '../client/with-admin.js';
import { withDeadline } from '../deadline.js';

const DEADLINE_MS = 5000;

type Recalled = (topic: string, partition: number) => FinishedAhead | undefined;

/**
 * What earlier owners of these partitions have finished ahead of what they committed. Where that cannot
 * be told, nothing: it is done again, which does no harm. Never rejects.
 */
export async function recallFinished(
  kafka: Kafka,
  groupId: string,
  partitions: readonly TopicPartition[],
): Promise<Recalled> {
  const answer: { recalled?: Recalled } = {};
  const asked = askFor(kafka, groupId, partitions).then((recalled) => {
    answer.recalled = recalled;
  });
  await withDeadline(asked, DEADLINE_MS);
  if (answer.recalled !== undefined) return answer.recalled;
  new Logger('Inbox').warn({ msg: 'what is finished already is not known: done again' });
  return () => undefined;
}

async function askFor(
  kafka: Kafka,
  groupId: string,
  partitions: readonly TopicPartition[],
): Promise<Recalled> {
  const topics = [...new Set(partitions.map(({ topic }) => topic))];
  const committed = await withAdmin(kafka, (admin) => admin.fetchOffsets({ groupId, topics }));
  return (topic, partition) => {
    const known = committed.find((it) => it.topic === topic);
    const commit = known?.partitions.find((it) => it.partition === partition);
    return commit && FinishedAhead.read(Number(commit.offset), commit.metadata);
  };
}
