import { field, type OrderStatus, parsed } from '#libs/contracts';
import { epochSecondsOf } from '../time/local-time.js';
import { type FieldReader, fieldReader, text, time } from '../json/field-reader.js';
import { orderFormat } from '../json/order-table.js';
import { operationIdOf, orderNumber } from '../sap/sap-values.js';
import { checkEntity, ENVELOPES, isSet } from '../sap-odata/odata-entity.js';
import { OPERATION_FLAGS, ORDER_FLAGS, readStatus } from '../sap-odata/odata-status.js';
import { readODataTime } from '../sap-odata/odata-time.js';

const OF_V2 = [
  'ManufacturingOrder',
  'ManufacturingOrderOperation',
  'ManufacturingOrderOperation_2',
  'StatusCode',
];

/** Days by preference, each with its time. */
const STARTS: Readonly<Record<string, string>> = {
  OpErlstSchedldExecStrtDte: 'OpErlstSchedldExecStrtTme',
  OpLtstSchedldExecStrtDte: 'OpLtstSchedldExecStrtTme',
};

/**
 * Answers of `CE_PRODUCTIONORDER_0001`. An event of S/4HANA has the number under the same name, and nothing else that
 * is read.
 */
export const sapODataV4 = orderFormat({
  name: 'SAP production orders of OData V4',
  envelopes: ENVELOPES,
  kindOf: ({ fields }) => {
    const has = (name: string) => Object.hasOwn(fields, name);
    if (!has('ProductionOrder') || OF_V2.some(has)) return undefined;
    return has('ProductionOrderOperation') ? 'operation' : 'order';
  },
  sign: {
    field: 'ProductionOrder',
    besides: [
      '_Operation',
      '_ProductionOrderOperation',
      'ProductionOrderOperation',
      'OrderActualReleaseDate',
    ],
  },
  order: {
    orderId: orderNumberIn('ProductionOrder'),
    changedAt: time('UTC', 'LastChangeDateTime'),
    status: orderStatus(),
    plant: text('ProductionPlant'),
  },
  operations: ['_ProductionOrderOperation', '_Operation'],
  operation: {
    operationId: operationId(),
    workCentre: text('WorkCenter'),
    plant: text('Plant', 'ProductionPlant'),
    status: operationStatus(),
    plannedStart: plannedStart(),
  },
  orderOfOperation: orderNumberIn('ProductionOrder'),
});

function orderNumberIn(name: string): FieldReader<string> {
  const number = text(name);
  return {
    ...number,
    read: (record, context) => {
      const read = number.read(record, context);
      return read.ok ? parsed(orderNumber(read.value)) : read;
    },
  };
}

/** Sequences number their operations each for itself. */
function operationId(): FieldReader<string> {
  const number = text('ProductionOrderOperation');
  const sequence = text('ProductionOrderSequence');
  return {
    ...number,
    read: (record, context) => {
      const read = number.read(record, context);
      const within = sequence.read(record, context);
      if (!read.ok || read.value === undefined) return read;
      return within.ok ? parsed(operationIdOf(read.value, within.value)) : within;
    },
  };
}

/** Dates that the order reaches, the latest first; the service has no statuses. */
const REACHED: readonly (readonly [field: string, status: OrderStatus])[] = [
  ['TechnicalCompletionDate', 'completed'],
  ['OrderActualStartDate', 'started'],
  ['OrderActualReleaseDate', 'released'],
];

const FLAGS = [...ORDER_FLAGS, ['IsMarkedForDeletion', 'I0076']] as const;

/** Undefined where the date of the release was not asked for: an item, say, has its own deletion flag and no dates. */
function orderStatus(): FieldReader<OrderStatus> {
  return {
    names: ['OrderActualReleaseDate'],
    read: (record, context) => {
      const checked = checkEntity(record, { texts: [], flags: FLAGS });
      if (!checked.ok) return checked;
      if (Object.hasOwn(record.fields, 'ProductionOrderItem')) return parsed(undefined);
      if (isSet(record, 'IsMarkedForDeletion')) return parsed('cancelled');
      const flagged = readStatus(record, ORDER_FLAGS);
      if (flagged !== undefined) return parsed(flagged);
      for (const [name, status] of REACHED) {
        const date = time('plant', name).read(record, context);
        if (!date.ok) return date;
        if (date.value !== undefined) return parsed(status);
      }
      return parsed(Object.hasOwn(record.fields, 'OrderActualReleaseDate') ? 'planned' : undefined);
    },
  };
}

function operationStatus(): FieldReader<OrderStatus> {
  return {
    names: OPERATION_FLAGS.map(([name]) => name),
    read: (record) => {
      const checked = checkEntity(record, { texts: [], flags: OPERATION_FLAGS });
      return checked.ok ? parsed(readStatus(record, OPERATION_FLAGS)) : checked;
    },
  };
}

function plannedStart(): FieldReader<number> {
  return fieldReader(Object.keys(STARTS), (value, { timeZone }, fields, name) => {
    const clock = field(fields, STARTS[name] ?? '');
    const start =
      typeof value === 'string'
        ? readODataTime(value, typeof clock === 'string' ? clock : undefined)
        : 'invalid';
    if (start === 'absent') return { value: undefined };
    if (start === 'invalid') return { problem: `and ${STARTS[name] ?? ''} are no date and time` };
    return { value: epochSecondsOf(start, timeZone) };
  });
}
