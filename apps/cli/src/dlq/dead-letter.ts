import { type DeadLetterFields, deadLetterFields, openEnvelope, readJson } from '#libs/contracts';
import type { StoredRecord } from '#libs/kafka';

/** A record of a dead-letter topic, with the fields of its headers. */
export interface DeadLetter {
  record: StoredRecord;
  fields: DeadLetterFields;
  /** Epoch seconds; the time of the record where no header has it. */
  failedAt: number;
  /** Epoch seconds; undefined while it has not been replayed. */
  replayedAt: number | undefined;
}

export function readDeadLetter(record: StoredRecord, replayedAt: number | undefined): DeadLetter {
  const fields = deadLetterFields(record.headers);
  const failedAt = fields.failedAt ?? Math.floor(Number(record.timestamp) / 1000);
  return { record, fields, failedAt, replayedAt };
}

/** `partition/offset`, as commands print it. */
export function positionOf({ record }: DeadLetter): string {
  return `${record.partition}/${record.offset}`;
}

/**
 * The machines a dead letter concerns: those that its header names as at fault, else the one that the message names,
 * else the key of the message, which for an order is its number.
 */
export function machineIdsOf({ record, fields }: DeadLetter): readonly string[] {
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
