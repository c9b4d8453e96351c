import { epochSecondsOf, type OrderStatus, parsed } from '#libs/contracts';
import {
  type FieldReader,
  fieldReader,
  readFields,
  status,
  text,
  textOrNumber,
} from '../json/field-reader.js';
import { orderFormat } from '../json/order-table.js';
import { readLocalTime } from '../time/local-time.js';

/** OData entities of Dynamics 365 Supply Chain Management, and its business events, which only name an order. */
export const dynamics = orderFormat({
  name: 'Dynamics 365 production orders',
  envelopes: ['value', 'data'],
  kindOf: ({ fields }) => {
    const has = (name: string) => Object.hasOwn(fields, name);
    if (has('BusinessEventId')) return 'order';
    if (!has('ProductionOrderNumber')) return undefined;
    return has('OperationNumber') ? 'operation' : 'order';
  },
  sign: {
    field: 'ProductionOrderNumber',
    besides: [
      'ProductionOrderStatus',
      'ProdutionOrderRouteOperations',
      'ProductionOrderRouteOperations',
      'CostingOperationResourceId',
    ],
  },
  order: {
    orderId: text('ProductionOrderNumber'),
    status: status(
      {
        Created: 'planned',
        CostEstimated: 'planned',
        Scheduled: 'planned',
        Released: 'released',
        StartedUp: 'started',
        ReportedFinished: 'completed',
        Completed: 'completed',
      },
      'ProductionOrderStatus',
    ),
    plant: text('ProductionSiteId'),
  },
  // Microsoft's metadata have the first spelling; the second is the correct one
  operations: ['ProdutionOrderRouteOperations', 'ProductionOrderRouteOperations'],
  operation: {
    operationId: operationId(),
    workCentre: text('CostingOperationResourceId'),
    status: operationStatus(),
    plannedStart: scheduledStart(),
  },
  orderOfPart: text('ProductionOrderNumber'),
});

/** Simultaneous operations have the same number and differ in their priority. */
function operationId(): FieldReader<string> {
  const key = { number: textOrNumber('OperationNumber'), priority: text('OperationPriority') };
  return {
    names: key.number.names,
    readField: (record, context) => {
      const read = readFields<Record<keyof typeof key, string>>(record, key, context);
      if (!read.ok) return read;
      const { number, priority = 'Primary' } = read.value;
      const isPrimary = number === undefined || priority === 'Primary';
      return parsed(isPrimary ? number : `${number}/${priority}`);
    },
  };
}

function operationStatus(): FieldReader<OrderStatus> {
  const completed = status({ Yes: 'completed', No: undefined }, 'IsOperationCompleted');
  const started = status({ Yes: 'started', No: undefined }, 'IsOperationStarted');
  return {
    names: [...completed.names, ...started.names],
    readField: (record, context) => {
      const read = completed.readField(record, context);
      return read.ok && read.value === undefined ? started.readField(record, context) : read;
    },
  };
}

const DAY_SECONDS = 86_400;

/** A day, given as noon in UTC, and seconds since midnight in the plant's zone. The year 1900 means no day. */
function scheduledStart(): FieldReader<number> {
  return fieldReader(['ScheduledFromDate'], (value, { timeZone }, fields) => {
    const seconds = fields['ScheduledFromTime'] ?? 0;
    const day = typeof value === 'string' ? value : '';
    if (day.startsWith('1900-01-01')) return { value: undefined };
    const midnight = /^\d{4}-\d{2}-\d{2}(?:T|$)/.test(day)
      ? readLocalTime(day.slice(0, 10), undefined)
      : 'invalid';
    const isTime = Number.isSafeInteger(seconds) && Number(seconds) >= 0;
    if (midnight === 'absent') return { value: undefined };
    if (midnight === 'invalid' || !isTime || Number(seconds) > DAY_SECONDS) {
      return { problem: 'and ScheduledFromTime are no day and seconds of it' };
    }
    const minutes = Math.floor(Number(seconds) / 60);
    const local = {
      ...midnight,
      hour: Math.floor(minutes / 60),
      minute: minutes % 60,
      second: Number(seconds) % 60,
    };
    return { value: epochSecondsOf(local, timeZone) };
  });
}
