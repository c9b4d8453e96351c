import {
  type OperationChange,
  type OrderChange,
  type OrderMessage,
  type OrderOperation,
  type OrderStatus,
  parsed,
  type Parsed,
  parsedEach,
  rejected,
} from '#libs/contracts';
import type { OrderFormat, ReadingContext } from '../document/order-format.js';
import { changeMessage, snapshotMessage } from '../document/checked-message.js';
import { groupBy } from '../grouping/group-by.js';
import { statusWithin } from '../document/status-within.js';
import { type FieldReader, readFields, type Readers } from './field-reader.js';
import {
  checkPages,
  childrenOf,
  firstRecordIn,
  type JsonRecord,
  missing,
  pathTo,
  recordsIn,
} from './json-record.js';

interface OrderFields {
  orderId: string;
  changedAt: number;
  status: OrderStatus;
  /** Plant of operations without their own. */
  plant: string;
}

/** The fields of a JSON format in which an order has a number, a status, and operations with a work centre. */
export interface OrderTable {
  name: string;
  /** Fields that may contain the records. */
  envelopes: readonly string[];
  /** The kind of a record; undefined for another format. */
  kindOf: (record: JsonRecord) => 'order' | 'operation' | 'status' | undefined;
  /** A field that identifies the format, and further fields that no other format has. */
  sign: { field: string; besides: readonly string[] };
  order: Readers<OrderFields> & { orderId: FieldReader<string>; status: FieldReader<OrderStatus> };
  /**
   * An order may have no status: then a whole order is planned, and a change has none. Its operations may be released
   * nevertheless.
   */
  isStatusOptional?: boolean;
  /** Fields with the operations of an order, in order of preference. */
  operations: readonly string[];
  operation: Readers<OperationChange> & {
    operationId: FieldReader<string>;
    workCentre: FieldReader<string>;
  };
  /** Selects the operations that are separate work; without it, all are. */
  ownWork?: (found: readonly FoundOperation[]) => OperationChange[];
  /** Order number in an operation or status without its order. */
  orderOfPart?: FieldReader<string>;
  /** Status of an order from statuses without their order. */
  statusOfParts?: (
    statuses: readonly JsonRecord[],
    context: ReadingContext,
  ) => Parsed<OrderStatus | undefined>;
}

/** An operation with a work centre, and its record. */
export interface FoundOperation {
  record: JsonRecord;
  operation: OperationChange;
}

/**
 * An adapter that reads by a table. An order with operations is a whole order, one without them changes its status.
 * Operations and statuses without their order are a change of it. An operation without a work centre is no work for a
 * machine.
 */
export function orderFormat(table: OrderTable): OrderFormat {
  const { name, envelopes, kindOf, sign } = table;
  return {
    name,
    recognises: ({ json }) => {
      const first = firstRecordIn(json, envelopes);
      return first !== undefined && kindOf(first) !== undefined;
    },
    missingField: (json) => missingSign(firstRecordIn(json, envelopes), sign),
    readMessages: ({ json }, context) => readRecords(recordsIn(json, envelopes), table, context),
  };
}

/** The missing field that would identify the format, for a record with other fields of the format. */
export function missingSign(
  record: JsonRecord | undefined,
  { field, besides }: OrderTable['sign'],
): string | undefined {
  return besides.some((name) => Object.hasOwn(record?.fields ?? {}, name)) ? field : undefined;
}

function readRecords(
  records: readonly JsonRecord[],
  table: OrderTable,
  context: ReadingContext,
): Parsed<OrderMessage[]> {
  const isPart = (record: JsonRecord) => (table.kindOf(record) ?? 'order') !== 'order';
  const orders = records.filter((record) => !isPart(record));
  const messages = parsedEach(orders, (record) => readOrder(record, table, context));
  if (!messages.ok) return messages;
  const changes = readParts(records.filter(isPart), table, context);
  return changes.ok ? parsed([...messages.value, ...changes.value]) : changes;
}

function readOrder(
  record: JsonRecord,
  table: OrderTable,
  context: ReadingContext,
): Parsed<OrderMessage> {
  const read = readFields(record, table.order, context);
  if (!read.ok) return read;
  const { orderId, status, plant, changedAt = context.recordedAt } = read.value;
  if (orderId === undefined) return missing(record, nameOf(table.order.orderId));
  if (changedAt === undefined) return refuseUndated(record, table);
  const pages = checkPages(record, table.operations);
  if (!pages.ok) return pages;
  const children = operationsOf(record, table);
  const { isStatusOptional = false } = table;
  if (children === undefined) {
    if (status === undefined && !isStatusOptional) return refuseBareOrder(record, table);
    return changeMessage(() => record.path, { orderId, changedAt, ...(status && { status }) });
  }
  if (status === undefined && !isStatusOptional) return missing(record, nameOf(table.order.status));
  const found = readOperations(children, table, context);
  if (!found.ok) return found;
  const ofWhole = status ?? 'planned';
  const within = isStatusOptional ? statusWithin : statusUntilRelease;
  const operations = found.value.map((operation): OrderOperation => ({
    ...(plant !== undefined && { plant }),
    ...operation,
    status: within(ofWhole, operation.status ?? ofWhole),
  }));
  const order = { orderId, changedAt, status: ofWhole, operations };
  return snapshotMessage(() => record.path, order);
}

/** Undefined where the operations are not included, or only by id. */
function operationsOf(record: JsonRecord, table: OrderTable): JsonRecord[] | undefined {
  const children = childrenOf(record, table.operations, table.envelopes);
  const areIds = children !== undefined && children.length > 0 && children.every(isId);
  return areIds ? undefined : children;
}

function isId({ notObject }: JsonRecord): boolean {
  return notObject === 'a number';
}

/** A released operation is planned until its order is released. */
function statusUntilRelease(order: OrderStatus, operation: OrderStatus): OrderStatus {
  return order === 'planned' && operation === 'released' ? order : statusWithin(order, operation);
}

/** Reads the operations with a work centre. Refuses records that all lack its field: the query did not select it. */
function readOperations(
  records: readonly JsonRecord[],
  { operation: readers, ownWork }: OrderTable,
  context: ReadingContext,
): Parsed<OperationChange[]> {
  const found = parsedEach(records, (record): Parsed<FoundOperation> => {
    const read = readFields(record, readers, context);
    if (!read.ok) return read;
    const { operationId } = read.value;
    if (operationId === undefined) return missing(record, nameOf(readers.operationId));
    return parsed({ record, operation: { ...read.value, operationId } });
  });
  if (!found.ok) return found;
  const [first] = records;
  const { names } = readers.workCentre;
  const isAsked = records.some(({ fields }) => names.some((name) => Object.hasOwn(fields, name)));
  if (first !== undefined && !isAsked) return missing(first, nameOf(readers.workCentre));
  const placed = found.value.filter(({ operation }) => operation.workCentre !== undefined);
  return parsed(ownWork?.(placed) ?? placed.map(({ operation }) => operation));
}

/** Reads operations and statuses without their order, as one change for each order. */
function readParts(
  records: readonly JsonRecord[],
  table: OrderTable,
  context: ReadingContext,
): Parsed<OrderMessage[]> {
  const parts = parsedEach(records, (record) => {
    const orderId = table.orderOfPart?.readField(record, context) ?? parsed(undefined);
    if (!orderId.ok) return orderId;
    if (orderId.value === undefined) return missing(record, nameOf(table.orderOfPart));
    return parsed({ orderId: orderId.value, record });
  });
  if (!parts.ok) return parts;
  const byOrder = groupBy(parts.value, ({ orderId }) => orderId);
  return parsedEach(byOrder, ([orderId, ofOrder]) => {
    const its = ofOrder.map(({ record }) => record);
    return readChange(orderId, its, table, context);
  });
}

function readChange(
  orderId: string,
  parts: readonly JsonRecord[],
  table: OrderTable,
  context: ReadingContext,
): Parsed<OrderMessage> {
  const [first = { fields: {}, path: '' }] = parts;
  const isOperation = (record: JsonRecord) => table.kindOf(record) === 'operation';
  const operations = readOperations(parts.filter(isOperation), table, context);
  if (!operations.ok) return operations;
  const dated = timeOfParts(parts, table, context);
  if (!dated.ok) return dated;
  if (dated.value === undefined) return refuseUndated(first, table);
  const statuses = parts.filter((record) => !isOperation(record));
  const status = table.statusOfParts?.(statuses, context) ?? parsed(undefined);
  if (!status.ok) return status;
  const change: OrderChange = { orderId, changedAt: dated.value };
  if (status.value !== undefined) change.status = status.value;
  if (operations.value.length > 0) change.operations = operations.value;
  return changeMessage(() => first.path, change);
}

/** Prefers the record's time: a part's own time may be older than that of its order, which was read before. */
function timeOfParts(
  parts: readonly JsonRecord[],
  { order: { changedAt } }: OrderTable,
  context: ReadingContext,
): Parsed<number | undefined> {
  if (context.recordedAt !== undefined) return parsed(context.recordedAt);
  const times = parsedEach(
    parts,
    (part) => changedAt?.readField(part, context) ?? parsed(undefined),
  );
  if (!times.ok) return times;
  const known = times.value.filter((time) => time !== undefined);
  return parsed(known.length === 0 ? undefined : Math.max(...known));
}

/** An event says that an order has changed, but not how. */
function refuseBareOrder(record: JsonRecord, { order, operations }: OrderTable): Parsed<never> {
  const where = record.path === '' ? 'the document' : record.path;
  const lacks = `${nameOf(order.status)} and ${operations[0] ?? ''} are missing`;
  return rejected('invalid-message', `${where} only names an order: ${lacks}`);
}

function refuseUndated(record: JsonRecord, { order }: OrderTable): Parsed<never> {
  const field = order.changedAt && pathTo(record, nameOf(order.changedAt));
  return rejected('invalid-message', `neither the record nor ${field ?? 'a field'} dates it`);
}

function nameOf(reader: FieldReader<unknown> | undefined): string {
  return reader?.names[0] ?? '';
}
