import { type DeadLetterFields, deadLetterFields, openEnvelope, readJson } from '#libs/contracts';
import { type StoredRecord } from '#libs/kafka';

/** A dead letter as it lies in its topic, with what its headers say and what has become of it. */
export interface StoredLetter {
  record: StoredRecord;
  fields: DeadLetterFields;
  /** Epoch seconds; when it was written, where no header says when it failed. */
  failedAt: number;
  /** Epoch seconds; undefined while it has not been replayed. */
  replayedAt: number | undefined;
}

export function toStoredLetter(record: StoredRecord, replayedAt: number | undefined): StoredLetter {
  const fields = deadLetterFields(record.headers);
  const failedAt = fields.failedAt ?? Math.floor(Number(record.timestamp) / 1000);
  return { record, fields, failedAt, replayedAt };
}

/** Where a letter is, as commands say it and people may repeat it. */
export function placeOf({ record }: StoredLetter): string {
  return `${record.partition}/${record.offset}`;
}

/**
 * The machines a letter is about: those its header says are at fault, else the one the message names,
 * else the key of the message, which for an order is its number.
 */
export function machineIdsOf({ record, fields }: StoredLetter): readonly string[] {
  if (fields.machineIds !== undefined) return fields.machineIds;
  const machineId = machineIdInBody(record) ?? record.key?.toString() ?? '';
  return machineId === '' ? [] : [machineId];
}

function machineIdInBody(record: StoredRecord): string | undefined {
  const envelope = openEnvelope(record);
  const json = envelope.ok ? readJson(envelope.value.body) : envelope;
  if (!json.ok || typeof json.value !== 'object' || json.value === null) return undefined;
  const { machineId } = json.value as { machineId?: unknown };
  return typeof machineId === 'string' ? machineId : undefined;
}
