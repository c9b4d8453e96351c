import { deadLetterFields, deadLetterTopic, type OutcomeSource } from '#libs/contracts';
import { type StoredRecord } from '#libs/messaging';

/** A dead letter that is there already. */
export interface WrittenLetter {
  source: Pick<OutcomeSource, 'topic' | 'partition' | 'offset'>;
  /** The machines it names; undefined where it names none. */
  machineIds: readonly string[] | undefined;
}

/**
 * Which message a record of a dead-letter topic sets aside; undefined for what others have written there,
 * or copied from elsewhere.
 */
export function writtenLetterOf({
  topic: letters,
  headers,
}: Pick<StoredRecord, 'topic' | 'headers'>): WrittenLetter | undefined {
  const {
    code,
    sourceTopic: topic,
    sourcePartition: partition,
    sourceOffset: offset,
    machineIds,
  } = deadLetterFields(headers);
  if (code === undefined || topic === undefined || deadLetterTopic(topic) !== letters) {
    return undefined;
  }
  if (partition === undefined || offset === undefined) return undefined;
  return { source: { topic, partition, offset }, machineIds };
}
