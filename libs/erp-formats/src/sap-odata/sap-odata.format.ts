import {
  isJsonObject,
  type OperationChange,
  type OrderChange,
  type OrderMessage,
  parsed,
  type Parsed,
  parsedEach,
  rejected,
} from '#libs/contracts';
import type { OrderFormat, ReadingContext } from '../document/order-format.js';
import { changeMessage, snapshotMessage } from '../document/checked-message.js';
import {
  checkPages,
  childrenOf,
  firstRecordIn,
  type JsonRecord,
  missing,
  pathTo,
  recordsIn,
} from '../json/json-record.js';
import { lacking } from '../json/order-table.js';
import { operationIdOf, orderNumber, withoutDeletedNamesakes } from '../sap/sap-values.js';
import { epochSecondsOf } from '../time/local-time.js';
import { statusWithin } from '../document/status-within.js';
import { checkEntities, checkEntity, ENVELOPES, textField } from './odata-entity.js';
import { OPERATION_FLAGS, ORDER_FLAGS, readStatus, STATUS_TEXTS } from './odata-status.js';
import { readLastChange, readODataTime } from './odata-time.js';

const KEYS = ['ManufacturingOrder', 'ProductionOrder'] as const;

const SIGN = {
  field: 'ManufacturingOrder',
  besides: [
    'to_ProductionOrderOperation',
    'to_ProductionOrderStatus',
    'ManufacturingOrderOperation',
  ],
};

export const sapOData: OrderFormat = {
  name: 'SAP OData production orders',
  mediaTypes: [],
  recognises: (content) => content.syntax === 'json' && isAnswer(content.value),
  lacks: (value) => lacking(firstRecordIn(value, ENVELOPES), SIGN),
  read: (content, context) =>
    content.syntax === 'json'
      ? readEntities(recordsIn(content.value, ENVELOPES), context)
      : rejected('invalid-message', 'OData is read as JSON'),
};

/** By its first entity; an envelope with none is an answer too. */
function isAnswer(json: unknown): boolean {
  const first = firstRecordIn(json, ENVELOPES);
  if (first === undefined) return isJsonObject(json);
  return KEYS.some((key) => Object.hasOwn(first.fields, key));
}

/** Orders with what hangs on them; or, of an answer that is operations or statuses alone, those by order. */
function readEntities(
  entities: readonly JsonRecord[],
  context: ReadingContext,
): Parsed<OrderMessage[]> {
  if (entities.length === 0) return rejected('invalid-message', 'the OData answer holds no order');
  const isPart = (entity: JsonRecord) => isOperation(entity) || isStatus(entity);
  const headers = entities.filter((entity) => !isPart(entity));
  const orders = parsedEach(headers, (header) => readODataOrder(header, context));
  if (!orders.ok) return orders;
  const parts = readParts(entities.filter(isPart), context);
  return parts.ok ? parsed([...orders.value, ...parts.value]) : parts;
}

function isStatus({ fields }: JsonRecord): boolean {
  return Object.hasOwn(fields, 'StatusCode');
}

const OPERATIONS = ['to_ProductionOrderOperation', '_ProductionOrderOperation'];
const STATUSES = ['to_ProductionOrderStatus', '_ProductionOrderStatus'];

/** An order's header: with its operations expanded the whole order, without them a change of its status. */
function readODataOrder(header: JsonRecord, context: ReadingContext): Parsed<OrderMessage> {
  const orderId = readOrderId(header);
  if (!orderId.ok) return orderId;
  const checked = checkHeader(header);
  if (!checked.ok) return checked;
  const lastChange = readLastChange(header);
  if (!lastChange.ok) return lastChange;
  const changedAt = lastChange.value ?? context.recordedAt;
  if (changedAt === undefined) {
    return rejected('invalid-message', `${pathTo(header, 'LastChangeDateTime')} is missing`);
  }
  const status = readStatus(header, ORDER_FLAGS, childrenOf(header, STATUSES, ENVELOPES));
  const entities = childrenOf(header, OPERATIONS, ENVELOPES);
  if (entities === undefined) {
    const change = { orderId: orderId.value, changedAt };
    return changeMessage(() => header.path, status === undefined ? change : { ...change, status });
  }
  const operations = readODataOperations(entities, context.timeZone);
  if (!operations.ok) return operations;
  // an order that does not say it is released is not
  const ofOrder = status ?? 'planned';
  return snapshotMessage(() => header.path, {
    orderId: orderId.value,
    changedAt,
    status: ofOrder,
    operations: operations.value.map((operation) => ({
      ...operation,
      status: statusWithin(ofOrder, operation.status ?? ofOrder),
    })),
  });
}

function checkHeader(header: JsonRecord): Parsed<undefined> {
  const checked = checkEntity(header, { texts: [], flags: ORDER_FLAGS });
  if (!checked.ok) return checked;
  const pages = checkPages(header, [...OPERATIONS, ...STATUSES]);
  if (!pages.ok) return pages;
  return checkEntities(childrenOf(header, STATUSES, ENVELOPES) ?? [], { texts: STATUS_TEXTS });
}

/** The number of an order as it is shown, out of any of its entities. */
function readOrderId(entity: JsonRecord): Parsed<string> {
  const checked = checkEntity(entity, { texts: KEYS });
  if (!checked.ok) return checked;
  const number = textField(entity, 'ManufacturingOrder') ?? textField(entity, 'ProductionOrder');
  const orderId = orderNumber(number);
  if (orderId !== undefined) return parsed(orderId);
  return missing(entity, 'ManufacturingOrder');
}

/** Operations and statuses that came without their orders, each order's as a change of it. */
function readParts(
  entities: readonly JsonRecord[],
  context: ReadingContext,
): Parsed<OrderMessage[]> {
  const byOrder = new Map<string, JsonRecord[]>();
  for (const entity of entities) {
    const orderId = readOrderId(entity);
    if (!orderId.ok) return orderId;
    const parts = byOrder.get(orderId.value) ?? [];
    parts.push(entity);
    byOrder.set(orderId.value, parts);
  }
  return parsedEach(byOrder, ([orderId, parts]) => readChange(orderId, parts, context));
}

function readChange(
  orderId: string,
  parts: readonly JsonRecord[],
  { timeZone, recordedAt }: ReadingContext,
): Parsed<OrderMessage> {
  const path = parts[0]?.path ?? '';
  // a part is not newer than its last change, but it was read after: by that alone it would lose to its header
  const dated = recordedAt === undefined ? lastChange(parts) : parsed(recordedAt);
  if (!dated.ok) return dated;
  const changedAt = dated.value;
  if (changedAt === undefined) {
    return rejected('invalid-message', `${pathTo({ path }, 'LastChangeDateTime')} is missing`);
  }
  const operations = readODataOperations(parts.filter(isOperation), timeZone);
  if (!operations.ok) return operations;
  const checked = checkEntities(parts, { texts: STATUS_TEXTS });
  if (!checked.ok) return checked;
  const status = readStatus({ fields: {}, path }, [], parts);
  const change: OrderChange = { orderId, changedAt };
  if (status !== undefined) change.status = status;
  if (operations.value.length > 0) change.operations = operations.value;
  return changeMessage(() => path, change);
}

function lastChange(parts: readonly JsonRecord[]): Parsed<number | undefined> {
  const changes = parsedEach(parts, readLastChange);
  if (!changes.ok) return changes;
  const known = changes.value.filter((change) => change !== undefined);
  return parsed(known.length === 0 ? undefined : Math.max(...known));
}

const OPERATION_NAMES = ['ManufacturingOrderOperation', 'ManufacturingOrderOperation_2'] as const;

const SUB_OPERATION_NAMES = [
  'ManufacturingOrderSubOperation',
  'ManufacturingOrdSubOperation_2',
] as const;

const SEQUENCE = 'ManufacturingOrderSequence';

/** Scheduled starts by preference: earliest, then latest. */
const STARTS = [
  ['OpErlstSchedldExecStrtDte', 'OpErlstSchedldExecStrtTme'],
  ['OpLtstSchedldExecStrtDte', 'OpLtstSchedldExecStrtTme'],
] as const;

const TEXTS = [
  ...OPERATION_NAMES,
  ...SUB_OPERATION_NAMES,
  ...STARTS.flat(),
  SEQUENCE,
  'WorkCenter',
  'ProductionPlant',
  'Plant',
];

/** An entity of operations rather than of orders. */
function isOperation(entity: JsonRecord): boolean {
  return OPERATION_NAMES.some((name) => Object.hasOwn(entity.fields, name));
}

/**
 * Operations as their entities describe them; without a status where none of their indicators is set. One
 * without a work centre is done elsewhere (by a supplier) and no work for a machine; where none of them so
 * much as has the field, it was not asked for.
 */
function readODataOperations(
  entities: readonly JsonRecord[],
  timeZone: string,
): Parsed<OperationChange[]> {
  const checked = checkEntities(entities, { texts: TEXTS, flags: OPERATION_FLAGS });
  if (!checked.ok) return checked;
  const [first] = entities;
  if (first !== undefined && !entities.some(({ fields }) => Object.hasOwn(fields, 'WorkCenter'))) {
    return missing(first, 'WorkCenter');
  }
  const placed = withoutSteps(entities).flatMap((entity) => {
    const workCentre = textField(entity, 'WorkCenter');
    return workCentre === undefined ? [] : [{ entity, workCentre }];
  });
  const operations = parsedEach(placed, ({ entity, workCentre }) =>
    readOperation(entity, workCentre, timeZone),
  );
  return operations.ok ? parsed(withoutDeletedNamesakes(operations.value)) : operations;
}

/** All but the sub-operations done at the work centre of their operation, which are steps of it. */
function withoutSteps(entities: readonly JsonRecord[]): JsonRecord[] {
  const placeOf = (entity: JsonRecord): string => {
    const number = firstText(entity, OPERATION_NAMES) ?? '';
    const id = operationIdOf(number, textField(entity, SEQUENCE));
    return `${id} ${textField(entity, 'WorkCenter') ?? ''}`;
  };
  const isSub = (entity: JsonRecord) => firstText(entity, SUB_OPERATION_NAMES) !== undefined;
  const operations = entities.filter((entity) => !isSub(entity));
  // work centres of several plants may have one name
  const plants = new Map(operations.map((entity) => [placeOf(entity), plantOf(entity)]));
  const isStep = (entity: JsonRecord): boolean => {
    const [place, plant] = [placeOf(entity), plantOf(entity)];
    return plants.has(place) && (plant === undefined || plants.get(place) === plant);
  };
  return entities.filter((entity) => !isSub(entity) || !isStep(entity));
}

function readOperation(
  entity: JsonRecord,
  workCentre: string,
  timeZone: string,
): Parsed<OperationChange> {
  const number = firstText(entity, OPERATION_NAMES);
  if (number === undefined) return missing(entity, OPERATION_NAMES[0]);
  const start = readPlannedStart(entity, timeZone);
  if (!start.ok) return start;
  const subOperation = firstText(entity, SUB_OPERATION_NAMES);
  const whole = subOperation === undefined ? number : `${number}-${subOperation}`;
  const operationId = operationIdOf(whole, textField(entity, SEQUENCE));
  const operation: OperationChange = { operationId, workCentre };
  const plant = plantOf(entity);
  const status = readStatus(entity, OPERATION_FLAGS);
  if (plant !== undefined) operation.plant = plant;
  if (status !== undefined) operation.status = status;
  if (start.value !== undefined) operation.plannedStart = start.value;
  return parsed(operation);
}

/** Releases of the service name a field differently. */
function firstText(entity: JsonRecord, names: readonly string[]): string | undefined {
  return names.map((name) => textField(entity, name)).find(Boolean);
}

function readPlannedStart(entity: JsonRecord, timeZone: string): Parsed<number | undefined> {
  for (const [dateField, timeField] of STARTS) {
    const start = readODataTime(textField(entity, dateField), textField(entity, timeField));
    if (start === 'invalid') {
      const path = pathTo(entity, dateField);
      return rejected('invalid-message', `${path} and ${timeField} are no date and time`);
    }
    if (start !== 'absent') return parsed(epochSecondsOf(start, timeZone));
  }
  return parsed(undefined);
}

function plantOf(entity: JsonRecord): string | undefined {
  return textField(entity, 'ProductionPlant') ?? textField(entity, 'Plant');
}
