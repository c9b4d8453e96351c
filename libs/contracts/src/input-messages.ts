/**
 * Parsers of the input topics: work order lists, work orders in their canonical form, and downtime reasons with the
 * periods to which they apply.
 */
import { describeJson, field, isJsonObject, type JsonObject, readJson } from './json.js';
import {
  describeAhead,
  FieldProblem,
  type FieldParser,
  identifier,
  identifiers,
  isBlank,
  list,
  MAX_IDENTIFIER_LENGTH,
  MAX_LIST_LENGTH,
  optional,
  readableMachineId,
  readFields,
  required,
  time,
  wholeNumber,
} from './message-fields.js';
import {
  isFinishedStatus,
  type OperationChange,
  ORDER_STATUSES,
  type OrderChange,
  type OrderSnapshot,
  type OrderStatus,
} from './orders.js';
import { withMachineId, parsed, type Parsed, rejected, type Rejection } from './rejection.js';

/** An invalid entry of a message; machineId is null when it is unreadable. */
interface WorkOrderListFault {
  machineId: string | null;
  rejection: Rejection;
}

/** A parsed message: each machine once, in `assignments` or in `faults`. */
export interface WorkOrderListMessage {
  assignments: WorkOrderAssignment[];
  faults: WorkOrderListFault[];
}

/**
 * Reads `erp.work-order-lists.v1`: `{machineId, workingOrders, issuedAt?}` or `{machines: [...]}`
 * (interface, setWorkOrderList). In the second form a bad entry is a fault of its own and the others remain valid; of
 * several entries for a machine only the last counts, valid or not; `issuedAt` beside `machines` applies to entries
 * without their own. Rejections: `invalid-json`, `invalid-message`, `too-large`.
 */
export function parseWorkOrderLists(body: Buffer): Parsed<WorkOrderListMessage> {
  const json = readJson(body);
  if (!json.ok) return json;
  if (!isJsonObject(json.value)) {
    return rejected(
      'invalid-message',
      `the message must be an object, not ${describeJson(json.value)}`,
    );
  }
  const message = json.value;
  return isBlank(field(message, 'machines')) ? oneMachine(message) : severalMachines(message);
}

/**
 * Replaces each list whose `issuedAt` lies too far ahead of the clock by a fault (`invalid-message`). If it were
 * applied, the bridge would take every list issued before that time for an older one.
 */
export function refuseIssuedAhead(
  message: WorkOrderListMessage,
  nowSeconds: number,
  maxAheadSeconds: number,
): WorkOrderListMessage {
  const latestSeconds = nowSeconds + maxAheadSeconds;
  const isAhead = ({ issuedAt }: WorkOrderAssignment): boolean =>
    issuedAt !== undefined && issuedAt > latestSeconds;
  if (!message.assignments.some(isAhead)) return message;
  const faults = message.assignments
    .filter(isAhead)
    .map(({ machineId, issuedAt = 0 }): WorkOrderListFault => {
      const detail = `issuedAt ${describeAhead(issuedAt, maxAheadSeconds)}`;
      return { machineId, rejection: { code: 'invalid-message', detail, machineId } };
    });
  return {
    assignments: message.assignments.filter((assignment) => !isAhead(assignment)),
    faults: [...message.faults, ...faults],
  };
}

function oneMachine(message: JsonObject): Parsed<WorkOrderListMessage> {
  const assignment = readFields<WorkOrderAssignment>(ASSIGNMENT, message);
  if (!assignment.ok) return withMachineId(assignment, readableMachineId(message));
  return parsed({ assignments: [assignment.value], faults: [] });
}

function severalMachines(message: JsonObject): Parsed<WorkOrderListMessage> {
  const machines = field(message, 'machines');
  if (!isBlank(field(message, 'machineId')) || !isBlank(field(message, 'workingOrders'))) {
    return rejected('invalid-message', 'the message has both machines and a list of its own');
  }
  if (!Array.isArray(machines)) {
    return rejected('invalid-message', `machines must be a list, not ${describeJson(machines)}`);
  }
  if (machines.length === 0) return rejected('invalid-message', 'machines must not be empty');
  if (machines.length > MAX_LIST_LENGTH) {
    return rejected(
      'too-large',
      `machines has ${machines.length} entries, more than ${MAX_LIST_LENGTH}`,
    );
  }
  const ofMessage = readFields<IssuedAt>(ISSUED_AT, message);
  return ofMessage.ok ? parsed(sortEntries(machines, ofMessage.value)) : ofMessage;
}

function sortEntries(entries: readonly unknown[], { issuedAt }: IssuedAt): WorkOrderListMessage {
  const perMachine = new Map<string, Parsed<WorkOrderAssignment>>();
  const faults: WorkOrderListFault[] = [];
  entries.forEach((entry, index) => {
    const outcome = readFields<WorkOrderAssignment>(ASSIGNMENT, entry, `machines[${index}]`);
    if (outcome.ok && issuedAt !== undefined) outcome.value.issuedAt ??= issuedAt;
    const machineId = readableMachineId(entry);
    if (machineId !== undefined) perMachine.set(machineId, outcome);
    else if (!outcome.ok) faults.push({ machineId: null, rejection: outcome.rejection });
  });
  const assignments: WorkOrderAssignment[] = [];
  for (const [machineId, outcome] of perMachine) {
    if (outcome.ok) assignments.push(outcome.value);
    else faults.push({ machineId, rejection: { ...outcome.rejection, machineId } });
  }
  return { assignments, faults };
}

/** The new list of a machine, in this order; an empty one clears the machine's list. */
export interface WorkOrderAssignment {
  machineId: string;
  workingOrders: string[];
  /** Epoch seconds; a list older than the one applied last to the machine is superseded. */
  issuedAt?: number;
}

type IssuedAt = Pick<WorkOrderAssignment, 'issuedAt'>;

const ISSUED_AT = { issuedAt: optional(time) };
const ASSIGNMENT = { machineId: identifier, workingOrders: identifiers, ...ISSUED_AT };

const orderStatus: FieldParser<OrderStatus> = (value) =>
  ORDER_STATUSES.find((status) => status === value) ??
  new FieldProblem(`must be one of ${ORDER_STATUSES.join(', ')}`);

/** The fields of an order, with its operations still unparsed. */
type OrderFields<T extends OrderSnapshot | OrderChange> = Pick<
  T,
  'orderId' | 'changedAt' | 'status'
> & { operations?: unknown[] };

const CHANGE_FIELDS = {
  orderId: identifier,
  changedAt: time,
  status: optional(orderStatus),
  operations: optional(list),
};
const SNAPSHOT_FIELDS = { ...CHANGE_FIELDS, status: orderStatus };

/**
 * Reads `erp.work-orders.v1` in its canonical form from a JSON value. An operation without a status has the order's.
 * A completed or cancelled order may leave its operations out, for it is on no list. Rejections: `invalid-message`,
 * `too-large` (more than 10,000 operations). One bad operation refuses the order, because a snapshot without it would
 * remove that operation from its machine.
 */
export function parseOrderMessage(json: unknown): Parsed<OrderSnapshot> {
  const fields = readFields<OrderFields<OrderSnapshot>>(SNAPSHOT_FIELDS, json);
  if (!fields.ok) return fields;
  const { orderId, changedAt, status, operations: given } = fields.value;
  if (given === undefined && !isFinishedStatus(status))
    return rejected('invalid-message', 'operations is missing');
  const operations = readOperations(orderId, given ?? [], (entry, path) => {
    const operation = readFields<OperationChange>(OPERATION_FIELDS, entry, path);
    if (!operation.ok) return operation;
    const { machineId, workCentre, status: own = status } = operation.value;
    if (machineId === undefined && workCentre === undefined) {
      return rejected('invalid-message', `${path} names neither a machineId nor a workCentre`);
    }
    return parsed(Object.assign(operation.value, { status: own }));
  });
  if (!operations.ok) return operations;
  return parsed({ orderId, changedAt, status, operations: operations.value });
}

/** Checks a change by the rules of the canonical form. Rejections: `invalid-message`, `too-large`. */
export function parseOrderChange(json: unknown): Parsed<OrderChange> {
  const fields = readFields<OrderFields<OrderChange>>(CHANGE_FIELDS, json);
  if (!fields.ok) return fields;
  const { operations: given, ...change } = fields.value;
  if (given === undefined) return parsed(change);
  const operations = readOperations(change.orderId, given, (entry, path) =>
    readFields<OperationChange>(OPERATION_FIELDS, entry, path),
  );
  return operations.ok ? parsed({ ...change, operations: operations.value }) : operations;
}

const OPERATION_FIELDS = {
  operationId: identifier,
  machineId: optional(identifier),
  workCentre: optional(identifier),
  plant: optional(identifier),
  status: optional(orderStatus),
  sequence: optional(wholeNumber),
  plannedStart: optional(time),
};

/**
 * On a list an operation is `orderId-operationId`. The service would refuse every list of the machine that has one of
 * more than 256 characters.
 */
function readOperations<T extends OperationChange>(
  orderId: string,
  entries: readonly unknown[],
  read: (entry: unknown, path: string) => Parsed<T>,
): Parsed<T[]> {
  const operations: T[] = [];
  const seen = new Set<string>();
  for (const entry of entries) {
    const path = `operations[${operations.length}]`;
    const operation = read(entry, path);
    if (!operation.ok) return operation;
    const { operationId } = operation.value;
    if (seen.has(operationId)) {
      return rejected('invalid-message', `${path} repeats operationId ${operationId}`);
    }
    const tooLong = orderId.length + 1 + operationId.length - MAX_IDENTIFIER_LENGTH;
    if (tooLong > 0) {
      const what = `${path}: orderId and operationId are ${tooLong} characters too long together`;
      return rejected('invalid-message', what);
    }
    seen.add(operationId);
    operations.push(operation.value);
  }
  return parsed(operations);
}

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
 * Reads `mes.downtime-reasons.v1`: `{machineId, reasonId | reason, startTime, endTime?}`. The
 * start may lie in the future. Rejections: `invalid-json`, `invalid-message`,
 * `missing-times` (no start), `start-after-end`, `too-large`.
 */
export function parseDowntimeReason(body: Buffer): Parsed<DowntimeReason> {
  const json = readJson(body);
  if (!json.ok) return json;
  const fields = readFields<ReasonFields>(REASON_FIELDS, json.value);
  const reason = fields.ok ? toReason(fields.value) : fields;
  return reason.ok ? reason : withMachineId(reason, readableMachineId(json.value));
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

/** A call of setMachineClassification that the service has accepted; times in epoch seconds. */
export interface ReceivedClassification {
  receivedAt: number;
  startTime: number;
  /** null: open-ended. */
  endTime: number | null;
  /** End of the shift that was in progress at `receivedAt`. */
  shiftEndTime: number;
}

/** A stretch of a machine's time with the call that applies to it; end exclusive. */
export interface ClassificationPeriod<T extends ReceivedClassification> {
  startTime: number;
  endTime: number;
  call: T;
  /** The later call that an open-ended one was ended by, if it was. */
  endedBy: T | null;
}

/**
 * What the calls received for one machine amount to, in time order (interface, "States and transitions" rule 2):
 *
 * - With an end time a classification applies to exactly [startTime, endTime).
 * - Without one it applies from startTime to the end of the current shift, which is the shift in
 *   progress when the call is received, or until a later call that carries an end time is received:
 *   then it ends at the moment of that receipt.
 * - Where two overlap, the one received later applies; what it leaves of the earlier one stays.
 *
 * @param received in the order of receipt
 */
export function classificationPeriods<T extends ReceivedClassification>(
  received: readonly T[],
): ClassificationPeriod<T>[] {
  let periods: ClassificationPeriod<T>[] = [];
  for (const [index, call] of received.entries()) {
    const { startTime, shiftEndTime } = call;
    const later = received.find((other, at) => at > index && other.endTime !== null);
    const isEnded = call.endTime === null && later !== undefined && later.receivedAt < shiftEndTime;
    const endedBy = isEnded ? later : null;
    const endTime = call.endTime ?? endedBy?.receivedAt ?? shiftEndTime;
    const added = { startTime, endTime, call, endedBy };
    periods = [...periods.flatMap((period) => subtractPeriod(period, added)), added].filter(
      isNotEmpty,
    );
  }
  return periods.sort((a, b) => a.startTime - b.startTime);
}

/** The parts of a period that lie before and after another. */
function subtractPeriod<T extends { startTime: number; endTime: number }>(
  period: T,
  { startTime, endTime }: { startTime: number; endTime: number },
): T[] {
  if (startTime >= endTime || period.endTime <= startTime || period.startTime >= endTime) {
    return [period];
  }
  return [
    { ...period, endTime: Math.min(period.endTime, startTime) },
    { ...period, startTime: Math.max(period.startTime, endTime) },
  ].filter(isNotEmpty);
}

function isNotEmpty({ startTime, endTime }: { startTime: number; endTime: number }): boolean {
  return startTime < endTime;
}
