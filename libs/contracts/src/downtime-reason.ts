import {
  Field,
  identifier,
  isBlank,
  isIdentifier,
  optionalIdentifier,
  optionalTime,
  present,
  readFields,
  secondsOf,
} from './message-fields.js';
import { describeJson, field, isJsonObject, readJson } from './json.js';
import { naming, parsed, rejected, type Parsed } from './rejection.js';

/** A reason for a period of one machine (interface, setMachineClassification); times in epoch seconds. */
export interface DowntimeReason {
  machineId: string;
  reasonId: string;
  startTime: number;
  /** Absent: open-ended, to the end of the shift at most. */
  endTime?: number;
}

class DowntimeReasonDto {
  @Field(identifier)
  machineId!: string;

  @Field(optionalIdentifier)
  reasonId: unknown;

  @Field(optionalIdentifier)
  reason: unknown;

  @Field(optionalTime)
  @Field(present, 'missing-times')
  startTime: unknown;

  @Field(optionalTime)
  endTime: unknown;
}

/**
 * Reads `mes.downtime-reasons.v1`: `{machineId, reasonId | reason, startTime, endTime?}`. Whether the start
 * lies in the future is for {@link startInFuture} to say. Refusals: `invalid-json`, `invalid-message`,
 * `missing-times` (no start), `start-after-end`, `too-large`.
 */
export function parseDowntimeReason(body: Buffer): Parsed<DowntimeReason> {
  const json = readJson(body);
  if (!json.ok) return json;
  if (!isJsonObject(json.value)) {
    return rejected(
      'invalid-message',
      `the message must be an object, not ${describeJson(json.value)}`,
    );
  }
  const fields = readFields(DowntimeReasonDto, json.value);
  const reason = fields.ok ? toReason(fields.value) : fields;
  const machineId = field(json.value, 'machineId');
  return reason.ok ? reason : naming(reason, isIdentifier(machineId) ? machineId : undefined);
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

function toReason(fields: DowntimeReasonDto): Parsed<DowntimeReason> {
  const reasonId = oneReason(fields);
  if (!reasonId.ok) return reasonId;
  const startTime = secondsOf(fields.startTime);
  const endTime = secondsOf(fields.endTime);
  if (startTime === undefined) return rejected('missing-times', 'startTime is missing');
  const { machineId } = fields;
  if (endTime === undefined) return parsed({ machineId, reasonId: reasonId.value, startTime });
  if (startTime > endTime) {
    return rejected('start-after-end', `startTime ${startTime} lies after endTime ${endTime}`);
  }
  return parsed({ machineId, reasonId: reasonId.value, startTime, endTime });
}

/** Both spellings are in use for the one field; together they must agree. */
function oneReason(fields: DowntimeReasonDto): Parsed<string> {
  const { reasonId, reason } = fields;
  const either = isBlank(reasonId) ? reason : reasonId;
  if (isBlank(either) || typeof either !== 'string') {
    return rejected('invalid-message', 'reasonId is missing');
  }
  if (!isBlank(reason) && reason !== either) {
    return rejected('invalid-message', 'reasonId and reason name different reasons');
  }
  return parsed(either);
}
