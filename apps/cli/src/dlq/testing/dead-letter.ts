import { deadLetterHeaders, type MessageHeader, type MessageHeaders } from '#libs/contracts';
import type { StoredRecord } from '#libs/kafka';
import { type DeadLetter, readDeadLetter } from '../dead-letter.js';

export const TOPIC = 'p1.mes.downtime-reasons.v1.dlq';
export const FAILED_AT = 1_763_680_060;

interface DeadLetterParts extends Partial<Omit<StoredRecord, 'headers' | 'value'>> {
  value?: Buffer | string | null;
  /** Replaces the headers of a dead letter by name; undefined removes one. */
  headers?: Record<string, MessageHeader[1] | undefined>;
  /** Headers of the input message, before all others. */
  original?: MessageHeaders;
  replayedAt?: number;
}

/** A dead letter of a refused reason for M-1. */
export function deadLetter(given: DeadLetterParts = {}): DeadLetter {
  const { value, headers, original = [], replayedAt, ...parts } = given;
  const why = deadLetterHeaders({
    code: 'unknown-reason',
    detail: 'M-1 has no reason coffee',
    sourceTopic: 'p1.mes.downtime-reasons.v1',
    sourcePartition: 2,
    sourceOffset: '41',
    sourceTimestamp: '1763680000123',
    failedAt: FAILED_AT,
    attempts: 0,
  });
  const record: StoredRecord = {
    topic: TOPIC,
    partition: 0,
    offset: 0,
    timestamp: '1763680061000',
    key: Buffer.from('M-1'),
    ...parts,
    value: value === null ? null : Buffer.from(value ?? '{"machineId":"M-1"}'),
    headers: [...original, ...Object.entries({ ...why, ...headers }).flatMap(ifThere)],
  };
  return readDeadLetter(record, replayedAt);
}

function ifThere([name, value]: [string, MessageHeader[1] | undefined]): MessageHeader[] {
  return value === undefined ? [] : [[name, value]];
}
