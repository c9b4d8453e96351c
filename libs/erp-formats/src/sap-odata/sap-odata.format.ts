import {
  field,
  isJsonObject,
  type OperationChange,
  type OrderStatus,
  parsed,
  type Parsed,
  parsedEach,
  rejected,
} from '#libs/contracts';
import type { OrderFormat, ReadingContext } from '../document/order-format.js';
import { type FieldReader, readFields, text } from '../json/field-reader.js';
import { checkPages, childrenOf, firstRecordIn, type JsonRecord } from '../json/json-record.js';
import { type FoundOperation, orderFormat } from '../json/order-table.js';
import { operationIdOf, statusOf, withoutDeletedNamesakes } from '../sap/sap-values.js';
import {
  ENVELOPES,
  lastChange,
  operationIdIn,
  operationStatus,
  ORDER_FLAGS,
  orderNumberIn,
  plannedStart,
  readFlags,
} from './odata-fields.js';

const KEYS = ['ManufacturingOrder', 'ProductionOrder'];
/** The service of process orders has the same entities, but its own names for the navigation to them. */
const OPERATIONS = [
  'to_ProductionOrderOperation',
  '_ProductionOrderOperation',
  'to_ProcessOrderOperation',
];
const STATUSES = ['to_ProductionOrderStatus', '_ProductionOrderStatus', 'to_ProcessOrderStatus'];
/** Field names of different releases. */
const NUMBERS = ['ManufacturingOrderOperation', 'ManufacturingOrderOperation_2'];
const SUB_NUMBERS = ['ManufacturingOrderSubOperation', 'ManufacturingOrdSubOperation_2'];
const SEQUENCE = 'ManufacturingOrderSequence';

const productionOrders = orderFormat({
  name: 'SAP OData production orders',
  envelopes: ENVELOPES,
  kindOf: ({ fields }) => {
    const has = (name: string) => Object.hasOwn(fields, name);
    if (!KEYS.some(has)) return undefined;
    if (NUMBERS.some(has)) return 'operation';
    return has('StatusCode') ? 'status' : 'order';
  },
  sign: {
    field: 'ManufacturingOrder',
    besides: [
      'to_ProductionOrderOperation',
      'to_ProductionOrderStatus',
      'to_ProcessOrderOperation',
      'to_ProcessOrderStatus',
      'ManufacturingOrderOperation',
    ],
  },
  order: { orderId: orderNumberIn(...KEYS), changedAt: lastChange, status: orderStatus() },
  isStatusOptional: true,
  operations: OPERATIONS,
  operation: {
    operationId: operationIdIn(SEQUENCE, NUMBERS, SUB_NUMBERS),
    workCentre: text('WorkCenter'),
    plant: text('ProductionPlant', 'Plant'),
    status: operationStatus,
    plannedStart,
  },
  ownWork,
  orderOfPart: orderNumberIn(...KEYS),
  statusOfParts: (statuses, context) => {
    const codes = readCodes(statuses, context);
    return codes.ok ? parsed(statusOf(codes.value)) : codes;
  },
});

export const sapOData: OrderFormat = {
  ...productionOrders,
  // an envelope without an entity is an answer too
  recognises: (content) => isEmptyAnswer(content.json) || productionOrders.recognises(content),
  readMessages: (content, context) =>
    isEmptyAnswer(content.json)
      ? rejected('invalid-message', 'the OData answer holds no order')
      : productionOrders.readMessages(content, context),
};

function isEmptyAnswer(json: unknown): boolean {
  return isJsonObject(json) && firstRecordIn(json, ENVELOPES) === undefined;
}

/** Status by an order's indicators and, where included, its statuses. */
function orderStatus(): FieldReader<OrderStatus> {
  return {
    names: ORDER_FLAGS.map(([name]) => name),
    readField: (record, context) => {
      const flagged = readFlags(record, ORDER_FLAGS);
      if (!flagged.ok) return flagged;
      const pages = checkPages(record, STATUSES);
      if (!pages.ok) return pages;
      const codes = readCodes(childrenOf(record, STATUSES, ENVELOPES) ?? [], context);
      return codes.ok ? parsed(statusOf([...flagged.value, ...codes.value])) : codes;
    },
  };
}

function readCodes(statuses: readonly JsonRecord[], context: ReadingContext): Parsed<string[]> {
  const codes = parsedEach(statuses, (each) =>
    readFields<{ code: string }>(each, { code: text('StatusCode') }, context),
  );
  return codes.ok ? parsed(codes.value.flatMap(({ code }) => code ?? [])) : codes;
}

/** Removes sub-operations at the work centre of their operation, which are its steps, and deleted namesakes. */
function ownWork(found: readonly FoundOperation[]): OperationChange[] {
  const isSub = ({ record }: FoundOperation) => firstText(record, SUB_NUMBERS) !== undefined;
  const placeOf = ({ record, operation }: FoundOperation): string => {
    const id = operationIdOf(firstText(record, NUMBERS) ?? '', firstText(record, [SEQUENCE]));
    return `${id} ${operation.workCentre ?? ''}`;
  };
  // work centres of different plants may have the same name
  const plants = new Map(
    found.filter((each) => !isSub(each)).map((each) => [placeOf(each), each.operation.plant]),
  );
  const isStep = (each: FoundOperation): boolean => {
    const [place, { plant }] = [placeOf(each), each.operation];
    return plants.has(place) && (plant === undefined || plants.get(place) === plant);
  };
  const own = found.filter((each) => !isSub(each) || !isStep(each));
  return withoutDeletedNamesakes(own.map(({ operation }) => operation));
}

/** The first of several fields that has a text. */
function firstText({ fields }: JsonRecord, names: readonly string[]): string | undefined {
  const texts = names.map((name) => field(fields, name));
  return texts.map((text) => (typeof text === 'string' ? text.trim() : '')).find(Boolean);
}
