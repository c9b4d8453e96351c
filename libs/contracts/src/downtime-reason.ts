import {
  identifier,
  optional,
  readableMachineId,
  readFields,
  required,
  time,
} from './message-fields.js';
import { readJson } from './json.js';
import { naming, parsed, rejected, type Parsed } from './rejection.js';

/** A reason for a period of one machine (interface, setMachineClassification); times in epoch seconds. */
export interface DowntimeReason {
  machineId: string;
  reasonId: string;
  startTime: number;
  /** Absent: open-ended, to the end of the shift at most. */
  endTime?: number;
}

/** Both spellings are in use for the one reason. */
interface ReasonFields extends Omit<DowntimeReason, 'reasonId'> {
  reasonId?: string;
  reason?: string;
}

const REASON_FIELDS = {
  machineId: identifier,
  reasonId: optional(identifier),
  reason: optional(identifier),
  startTime: required(time, 'missing-times'),
  endTime: optional(time),
};

/**
 * Reads `mes.downtime-reasons.v1`: `{machineId, reasonId | reason, startTime, endTime?}`. Whether the start
 * lies in the future is for {@link startInFuture} to say. Refusals: `invalid-json`, `invalid-message`,
 * `missing-times` (no start), `start-after-end`, `too-large`.
 */
export function parseDowntimeReason(body: Buffer): Parsed<DowntimeReason> {
  const json = readJson(body);
  if (!json.ok) return json;
  const fields = readFields<ReasonFields>(REASON_FIELDS, json.value);
  const reason = fields.ok ? toReason(fields.value) : fields;
  return reason.ok ? reason : naming(reason, readableMachineId(json.value));
}

/** What the clock says of a start: send it, hold it until it has passed, or refuse it (`start-in-future`). */
export function startInFuture(
  reason: Pick<DowntimeReason, 'startTime'>,
  nowSeconds: number,
  maxSkewSeconds: number,
): 'now' | 'hold' | 'reject' {
  if (reason.startTime <= nowSeconds) return 'now';
  return reason.startTime <= nowSeconds + maxSkewSeconds ? 'hold' : 'reject';
}

function toReason(fields: ReasonFields): Parsed<DowntimeReason> {
  const { machineId, reason, reasonId = reason, startTime, endTime } = fields;
  if (reasonId === undefined) return rejected('invalid-message', 'reasonId is missing');
  if (reason !== undefined && reason !== reasonId) {
    return rejected('invalid-message', 'reasonId and reason name different reasons');
  }
  if (endTime === undefined) return parsed({ machineId, reasonId, startTime });
  if (startTime > endTime) {
    return rejected('start-after-end', `startTime ${startTime} lies after endTime ${endTime}`);
  }
  return parsed({ machineId, reasonId, startTime, endTime });
}
