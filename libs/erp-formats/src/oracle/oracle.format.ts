import type { OrderStatus } from '#libs/contracts';
import { status, text, textOrNumber, time } from '../json/field-reader.js';
import { orderFormat } from '../json/order-table.js';

const STATUSES: Readonly<Record<string, OrderStatus>> = {
  PENDING_APPROVAL: 'planned',
  UNRELEASED: 'planned',
  RELEASED: 'released',
  ON_HOLD: 'held',
  COMPLETED: 'completed',
  CLOSED: 'completed',
  CANCELED: 'cancelled',
};
/** In one of the fields, Oracle's own codes have a prefix. */
const PREFIXED = Object.entries(STATUSES).map(([code, of]) => [`ORA_${code}`, of] as const);

/** `workOrders` of Oracle Fusion Cloud Manufacturing, and its business events, which only name an order. */
export const oracle = orderFormat({
  name: 'Oracle Fusion work orders',
  envelopes: ['items'],
  kindOf: ({ fields }) => (Object.hasOwn(fields, 'WorkOrderNumber') ? 'order' : undefined),
  sign: {
    field: 'WorkOrderNumber',
    besides: ['WorkOrderSystemStatusCode', 'WorkOrderStatusCode', 'WorkOrderOperation'],
  },
  order: {
    orderId: text('WorkOrderNumber'),
    changedAt: time('UTC', 'LastUpdateDate'),
    status: status(
      { ...STATUSES, ...Object.fromEntries(PREFIXED) },
      ...['WorkOrderSystemStatusCode', 'WorkOrderStatusCode'],
    ),
    plant: text('OrganizationCode'),
  },
  operations: ['WorkOrderOperation'],
  operation: {
    operationId: textOrNumber('OperationSequenceNumber'),
    workCentre: text('WorkCenterCode'),
    plannedStart: time('UTC', 'PlannedStartDate'),
  },
});
