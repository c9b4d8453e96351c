import {
  deadLetterFields,
  deadLetterTopic,
  type OutcomeSource,
  type RejectionCode,
} from '#libs/contracts';
import { type StoredRecord } from '#libs/messaging';
import { type RejectedResult } from './command-result.js';

/** A dead letter that is there already. */
export interface WrittenLetter {
  source: Pick<OutcomeSource, 'topic' | 'partition' | 'offset'>;
  /** The machines it names; undefined where it names none. */
  machineIds: readonly string[] | undefined;
  /** What became of the message by it. */
  result: Omit<RejectedResult, 'machineId'>;
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
    detail = '',
    sourceTopic: topic,
    sourcePartition: partition,
    sourceOffset: offset,
    attempts = 0,
    httpStatus,
    machineIds,
  } = deadLetterFields(headers);
  if (code === undefined || topic === undefined || deadLetterTopic(topic) !== letters) {
    return undefined;
  }
  if (partition === undefined || offset === undefined) return undefined;
  const rejection = { code: code as RejectionCode, detail };
  const status = httpStatus === undefined ? {} : { httpStatus };
  const result = { kind: 'rejected', attempts, rejection, ...status } as const;
  return { source: { topic, partition, offset }, machineIds, result };
}
