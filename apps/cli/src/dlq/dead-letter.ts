import {
  type DeadLetterFields,
  deadLetterFields,
  isJsonObject,
  openEnvelope,
  readJson,
} from '#libs/contracts';
import type { StoredRecord } from '#libs/kafka';

export interface DeadLetter {
  record: StoredRecord;
  fields: DeadLetterFields;
  /** Epoch seconds, from the header, else the time of the record. */
  failedAt: number;
  /** Epoch seconds; undefined unless replayed. */
  replayedAt: number | undefined;
}

export function readDeadLetter(record: StoredRecord, replayedAt: number | undefined): DeadLetter {
  const fields = deadLetterFields(record.headers);
  const failedAt = fields.failedAt ?? Math.floor(Number(record.timestamp) / 1000);
  return { record, fields, failedAt, replayedAt };
}

export function positionOf({ record }: DeadLetter): string {
  return `${record.partition}/${record.offset}`;
}

/**
 * The machines of a dead letter: those at fault from its header, else the machineId in the message, else the key of the
 * message, which for an order is the order number.
 */
export function machineIdsOf({ record, fields }: DeadLetter): readonly string[] {
  if (fields.machineIds !== undefined) return fields.machineIds;
  const machineId = machineIdInBody(record) ?? record.key?.toString() ?? '';
  return machineId === '' ? [] : [machineId];
}

function machineIdInBody(record: StoredRecord): string | undefined {
  const envelope = openEnvelope(record);
  const json = envelope.ok ? readJson(envelope.value.body) : envelope;
  if (!json.ok || !isJsonObject(json.value)) return undefined;
  const { machineId } = json.value;
  return typeof machineId === 'string' ? machineId : undefined;
}
