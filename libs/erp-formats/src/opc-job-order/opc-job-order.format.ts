import {
  field,
  isJsonObject,
  type JsonObject,
  type OperationChange,
  type OrderMessage,
  type OrderStatus,
  parsed,
  type Parsed,
  parsedEach,
  rejected,
} from '#libs/contracts';
import type { OrderFormat, ReadingContext } from '../document/order-format.js';
import { changeMessage, snapshotMessage } from '../document/checked-message.js';
import {
  type FieldReader,
  fieldReader,
  readFields,
  status,
  text,
  time,
} from '../json/field-reader.js';
import {
  childrenOf,
  firstRecordIn,
  type JsonRecord,
  missing,
  recordsIn,
} from '../json/json-record.js';
import { missingSign } from '../json/order-table.js';

/** A job order's status after a method of the receiver; undefined where the method does not change it. */
const STATUS_BY_METHOD = new Map<string, OrderStatus | undefined>([
  ['Store', 'planned'],
  ['StoreAndStart', 'released'],
  ['Start', 'released'],
  ['RevokeStart', 'planned'],
  ['Update', undefined],
  ['Pause', 'held'],
  ['Resume', 'started'],
  ['Stop', 'completed'],
  ['Cancel', 'cancelled'],
  ['Abort', 'cancelled'],
]);

/**
 * Job orders of OPC 10031-4, which OPC 40001-3 uses for machines: the arguments of a method of the job order receiver
 * under the method's name, entries of its list of job orders, which have a state, or a single job order.
 */
export const opcJobOrder: OrderFormat = {
  name: 'OPC UA job orders',
  recognises: ({ json }) => isEmptyList(json) || isJobDocument(json),
  missingField: (json) => missingSign(firstRecordIn(json, LIST), SIGN),
  readMessages: ({ json }, context) =>
    isEmptyList(json)
      ? rejected('invalid-message', 'JobOrderList is empty: orders that are not in it stay')
      : parsedEach(jobsIn(json), (job) => readJob(job, context)),
};

/** The arguments of a method, or an entry of the list of job orders. */
interface Job {
  method?: string;
  record: JsonRecord;
}

const LIST = ['JobOrderList'];
const SIGN = { field: 'JobOrderID', besides: ['EquipmentRequirements'] };

/** The list of a receiver without job orders. In B2MML, JobOrderList is an object. */
function isEmptyList(json: unknown): boolean {
  const list = isJsonObject(json) ? field(json, 'JobOrderList') : undefined;
  return Array.isArray(list) && list.length === 0;
}

function isJobDocument(json: unknown): boolean {
  if (isJsonObject(json) && methodIn(json) !== undefined) return true;
  const first = firstRecordIn(json, LIST);
  return first !== undefined && isJob(first);
}

function jobsIn(json: unknown): Job[] {
  const job = isJsonObject(json) ? methodIn(json) : undefined;
  return job === undefined ? recordsIn(json, LIST).map((record) => ({ record })) : [job];
}

function methodIn(json: JsonObject): Job | undefined {
  const [method, ...others] = Object.keys(json).filter((name) => STATUS_BY_METHOD.has(name));
  const fields = method === undefined ? undefined : json[method];
  if (method === undefined || others.length > 0 || !isJsonObject(fields)) return undefined;
  return { method, record: { fields, path: method } };
}

/** Job orders of B2MML have an ID instead of a JobOrderID. */
function isJob({ fields }: JsonRecord): boolean {
  if (Object.hasOwn(fields, 'JobOrderID')) return true;
  const order = field(fields, 'JobOrder');
  return isJsonObject(order) && Object.hasOwn(order, 'JobOrderID');
}

const PRIORITIES = { from: -32_768, to: 32_767 };

const JOB_FIELDS = {
  orderId: text('JobOrderID'),
  plannedStart: time('UTC', 'StartTime'),
  // a higher priority comes earlier on the list, none at all last
  sequence: priority(),
};

function priority(): FieldReader<number> {
  const { from, to } = PRIORITIES;
  return fieldReader(['Priority'], (value) =>
    Number.isInteger(value) && Number(value) >= from && Number(value) <= to
      ? { value: to + 1 - Number(value) }
      : { problem: `must be a whole number from ${from} to ${to}` },
  );
}

const EQUIPMENT_FIELDS = { workCentre: text('ID') };

/** Reads a job order with equipment as a whole order, or as a change for `Update`; without equipment as a status. */
function readJob({ method, record }: Job, context: ReadingContext): Parsed<OrderMessage> {
  const order = childrenOf(record, ['JobOrder'], [])?.[0] ?? record;
  const where = () => order.path;
  const read = readFields(order, JOB_FIELDS, context);
  if (!read.ok) return read;
  const { orderId, ...work } = read.value;
  const changedAt = context.recordedAt;
  if (orderId === undefined) return missing(order, 'JobOrderID');
  if (changedAt === undefined) return rejected('invalid-message', 'the record has no time');
  const found =
    method === undefined ? stateOf(record, context) : parsed(STATUS_BY_METHOD.get(method));
  if (!found.ok) return found;
  const ofOrder = found.value;
  const operations = readEquipment(order, work, context);
  if (!operations.ok) return operations;
  if (operations.value === undefined) {
    if (ofOrder === undefined) return missing(order, 'EquipmentRequirements');
    return changeMessage(where, { orderId, changedAt, status: ofOrder });
  }
  if (method === 'Update') {
    const change = { orderId, changedAt, operations: operations.value, replaces: 'all' as const };
    return changeMessage(where, change);
  }
  // a single job order is meant to be executed
  const ofWhole = ofOrder ?? 'released';
  return snapshotMessage(where, {
    orderId,
    changedAt,
    status: ofWhole,
    operations: operations.value.map((operation) => ({ ...operation, status: ofWhole })),
  });
}

/** One operation for each piece of required equipment; undefined without any. */
function readEquipment(
  order: JsonRecord,
  work: Omit<OperationChange, 'operationId'>,
  context: ReadingContext,
): Parsed<OperationChange[] | undefined> {
  const operations = new Map<string, OperationChange>();
  for (const equipment of childrenOf(order, ['EquipmentRequirements'], []) ?? []) {
    const read = readFields(equipment, EQUIPMENT_FIELDS, context);
    if (!read.ok) return read;
    const { workCentre } = read.value;
    if (workCentre === undefined) return missing(equipment, 'ID');
    operations.set(workCentre, { operationId: workCentre, workCentre, ...work });
  }
  return parsed(operations.size === 0 ? undefined : [...operations.values()]);
}

const STATE_FIELDS = {
  status: status(
    {
      NotAllowedToStart: 'planned',
      AllowedToStart: 'released',
      Running: 'started',
      Interrupted: 'held',
      Ended: 'completed',
      Aborted: 'cancelled',
    },
    ...['Text', 'StateText'],
  ),
};

/** The status by the first state; the others are its substates. */
function stateOf(record: JsonRecord, context: ReadingContext): Parsed<OrderStatus | undefined> {
  const [state] = childrenOf(record, ['State'], []) ?? [];
  if (state === undefined) return parsed(undefined);
  const localized = childrenOf(state, ['StateText'], [])?.[0] ?? state;
  const read = readFields(localized, STATE_FIELDS, context);
  if (!read.ok) return read;
  if (read.value.status !== undefined) return parsed(read.value.status);
  return missing(state, 'StateText');
}
