import { type OrderStatus, parsed } from '#libs/contracts';
import { type FieldReader, text, time } from '../json/field-reader.js';
import { orderFormat } from '../json/order-table.js';
import {
  ENVELOPES,
  operationIdIn,
  operationStatus,
  ORDER_FLAGS,
  orderNumberIn,
  plannedStart,
  readFlags,
} from '../sap-odata/odata-fields.js';
import { statusOf, withoutDeletedNamesakes } from '../sap/sap-values.js';

const OF_V2 = [
  'ManufacturingOrder',
  'ManufacturingOrderOperation',
  'ManufacturingOrderOperation_2',
  'StatusCode',
];

/**
 * Answers of `CE_PRODUCTIONORDER_0001`. An event of S/4HANA has the order number under the same name, and none of the
 * other fields.
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
    operationId: operationIdIn('ProductionOrderSequence', ['ProductionOrderOperation']),
    workCentre: text('WorkCenter'),
    plant: text('Plant', 'ProductionPlant'),
    status: operationStatus,
    plannedStart,
  },
  ownWork: (found) => withoutDeletedNamesakes(found.map(({ operation }) => operation)),
  orderOfPart: orderNumberIn('ProductionOrder'),
});

/** Dates of an order's progress, the latest first; the service has no statuses. */
const REACHED: readonly (readonly [field: string, status: OrderStatus])[] = [
  ['TechnicalCompletionDate', 'completed'],
  ['OrderActualStartDate', 'started'],
  ['OrderActualReleaseDate', 'released'],
];

const MARKED = [['IsMarkedForDeletion', 'I0076']] as const;

/** Undefined without the field of the release date: an item, for example, has its own deletion flag and no dates. */
function orderStatus(): FieldReader<OrderStatus> {
  return {
    names: ['OrderActualReleaseDate'],
    readField: (record, context) => {
      const flagged = readFlags(record, [...MARKED, ...ORDER_FLAGS]);
      if (!flagged.ok) return flagged;
      if (Object.hasOwn(record.fields, 'ProductionOrderItem')) return parsed(undefined);
      const status = statusOf(flagged.value);
      if (status !== undefined) return parsed(status);
      for (const [name, reached] of REACHED) {
        const date = time('plant', name).readField(record, context);
        if (!date.ok) return date;
        if (date.value !== undefined) return parsed(reached);
      }
      return parsed(Object.hasOwn(record.fields, 'OrderActualReleaseDate') ? 'planned' : undefined);
    },
  };
}
