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
  /** Of operations that name none. */
  plant: string;
}

/** A format of JSON in which an order has a number, a status and operations with a work centre each: its fields. */
export interface OrderTable {
  name: string;
  /** Fields around the records. */
  envelopes: readonly string[];
  /** What a record is; undefined for one of another format. */
  kindOf: (record: Pick<JsonRecord, 'fields'>) => 'order' | 'operation' | undefined;
  /** A field that a record is known by, and further ones that no other format has. */
  sign: { field: string; besides: readonly string[] };
  order: Readers<OrderFields> & { orderId: FieldReader<string>; status: FieldReader<OrderStatus> };
  /** Fields that hold the operations of an order, by preference. */
  operations: readonly string[];
  operation: Readers<OperationChange> & {
    operationId: FieldReader<string>;
    workCentre: FieldReader<string>;
  };
  /** The order of an operation that came without it. */
  orderOfOperation?: FieldReader<string>;
}

/**
 * An adapter that reads by a table. Orders with their operations are whole orders; orders without them change a status,
 * operations without their order change these. An operation without a work centre is no work for a machine.
 */
export function orderFormat(table: OrderTable): OrderFormat {
  const { name, envelopes, kindOf, sign } = table;
  return {
    name,
    mediaTypes: [],
    recognises: (content) => {
      const first = content.syntax === 'json' ? firstRecordIn(content.value, envelopes) : undefined;
      return first !== undefined && kindOf(first) !== undefined;
    },
    lacks: (value) => lacking(firstRecordIn(value, envelopes), sign),
    read: (content, context) =>
      content.syntax === 'json'
        ? readRecords(recordsIn(content.value, envelopes), table, context)
        : rejected('invalid-message', 'is read as JSON'),
  };
}

/** The field that a record would be known by, where it has others of the format. */
export function lacking(
  record: Pick<JsonRecord, 'fields'> | undefined,
  { field, besides }: OrderTable['sign'],
): string | undefined {
  return besides.some((name) => Object.hasOwn(record?.fields ?? {}, name)) ? field : undefined;
}

function readRecords(
  records: readonly JsonRecord[],
  table: OrderTable,
  context: ReadingContext,
): Parsed<OrderMessage[]> {
  const isOperation = (record: JsonRecord) => table.kindOf(record) === 'operation';
  const orders = records.filter((record) => !isOperation(record));
  const messages = parsedEach(orders, (record) => readOrder(record, table, context));
  if (!messages.ok) return messages;
  const changes = readLoneOperations(records.filter(isOperation), table, context);
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
  if (changedAt === undefined) return undated(record, table);
  const pages = checkPages(record, table.operations);
  if (!pages.ok) return pages;
  const children = operationsOf(record, table);
  if (children === undefined) {
    if (status === undefined) return alone(record, table);
    return changeMessage(() => record.path, { orderId, changedAt, status });
  }
  if (status === undefined) return missing(record, nameOf(table.order.status));
  const found = readOperations(children, table, context);
  if (!found.ok) return found;
  const operations = found.value.filter(hasPlace).map((operation): OrderOperation => ({
    ...(plant !== undefined && { plant }),
    ...operation,
    status: ofOrder(status, operation.status ?? status),
  }));
  return snapshotMessage(() => record.path, { orderId, changedAt, status, operations });
}

/** Undefined where they did not come along, or as ids alone. */
function operationsOf(record: JsonRecord, table: OrderTable): JsonRecord[] | undefined {
  const children = childrenOf(record, table.operations, table.envelopes);
  const areIds = children !== undefined && children.length > 0 && children.every(isId);
  return areIds ? undefined : children;
}

function isId({ notObject }: JsonRecord): boolean {
  return notObject === 'a number';
}

/** An operation that could be worked on waits for an order that is not released. */
function ofOrder(order: OrderStatus, operation: OrderStatus): OrderStatus {
  return order === 'planned' && operation === 'released' ? order : statusWithin(order, operation);
}

/** Where none of them so much as has the field of the work centre, it was not asked for. */
function readOperations(
  records: readonly JsonRecord[],
  { operation: readers }: OrderTable,
  context: ReadingContext,
): Parsed<OperationChange[]> {
  const operations = parsedEach(records, (record): Parsed<OperationChange> => {
    const read = readFields(record, readers, context);
    if (!read.ok) return read;
    const { operationId } = read.value;
    if (operationId === undefined) return missing(record, nameOf(readers.operationId));
    return parsed({ ...read.value, operationId });
  });
  const [first] = records;
  const { names } = readers.workCentre;
  const isAsked = records.some(({ fields }) => names.some((name) => Object.hasOwn(fields, name)));
  return !operations.ok || first === undefined || isAsked
    ? operations
    : missing(first, nameOf(readers.workCentre));
}

function hasPlace({ workCentre }: OperationChange): boolean {
  return workCentre !== undefined;
}

/** Operations that came without their orders, those of each order as a change of it. */
function readLoneOperations(
  records: readonly JsonRecord[],
  table: OrderTable,
  context: ReadingContext,
): Parsed<OrderMessage[]> {
  const found = readOperations(records, table, context);
  if (!found.ok) return found;
  // their own times are older than that of their order, which was changed with them
  const changedAt = context.recordedAt;
  const changes = new Map<string, OrderChange & { operations: OperationChange[] }>();
  for (const [index, record] of records.entries()) {
    const read = table.orderOfOperation?.read(record, context);
    if (read?.ok === false) return read;
    const orderId = read?.value;
    if (orderId === undefined) return missing(record, nameOf(table.orderOfOperation));
    if (changedAt === undefined) return undated(record, table);
    const change = changes.get(orderId) ?? { orderId, changedAt, operations: [] };
    change.operations.push(...found.value.slice(index, index + 1).filter(hasPlace));
    changes.set(orderId, change);
  }
  return parsedEach(changes.values(), (change) =>
    changeMessage(() => records[0]?.path ?? '', change),
  );
}

/** Events say that an order changed, and not how. */
function alone(record: JsonRecord, { order, operations }: OrderTable): Parsed<never> {
  const where = record.path === '' ? 'the document' : record.path;
  const lacks = `${nameOf(order.status)} and ${operations[0] ?? ''} are missing`;
  return rejected('invalid-message', `${where} only names an order: ${lacks}`);
}

function undated(record: JsonRecord, { order }: OrderTable): Parsed<never> {
  const field = order.changedAt && pathTo(record, nameOf(order.changedAt));
  return rejected('invalid-message', `neither the record nor ${field ?? 'a field'} dates it`);
}

function nameOf(reader: FieldReader<unknown> | undefined): string {
  return reader?.names[0] ?? '';
}
