import { field, isJsonObject, type JsonObject, type OrderMessage, parsed } from '#libs/contracts';
import type { DocumentContent, OrderFormat } from '../document/order-format.js';
import {
  type FieldReader,
  fieldReader,
  status,
  text,
  textOrNumber,
  time,
} from '../json/field-reader.js';
import { recordsIn } from '../json/json-record.js';
import { orderFormat } from '../json/order-table.js';

const ENVELOPES = ['result', 'records', 'data'];

const manufacturingOrders = orderFormat({
  name: 'Odoo manufacturing orders',
  envelopes: ENVELOPES,
  kindOf: ({ fields }) => {
    switch (modelOf(fields)) {
      case 'mrp.production':
        return 'order';
      case 'mrp.workorder':
        return 'operation';
      default:
        return undefined;
    }
  },
  sign: { field: 'production_id', besides: ['workcenter_id'] },
  order: {
    orderId: text('name'),
    changedAt: time('UTC', 'write_date'),
    status: status(
      {
        draft: 'planned',
        confirmed: 'released',
        progress: 'started',
        to_close: 'started',
        done: 'completed',
        cancel: 'cancelled',
      },
      'state',
    ),
  },
  operations: ['workorder_ids'],
  operation: {
    operationId: textOrNumber('id', '_id'),
    workCentre: nameOrId('workcenter_id'),
    status: status(
      {
        pending: 'planned',
        waiting: 'planned',
        blocked: 'planned',
        ready: 'released',
        progress: 'started',
        done: 'completed',
        cancel: 'cancelled',
      },
      'state',
    ),
    plannedStart: time('UTC', 'date_start', 'date_planned_start'),
  },
  orderOfPart: productionOf('production_id'),
});

/** Records of Odoo: manufacturing orders (`mrp.production`) and work orders (`mrp.workorder`). */
export const odoo: OrderFormat = {
  ...manufacturingOrders,
  readMessages: (content, context) => {
    const read = manufacturingOrders.readMessages(content, context);
    return read.ok ? parsed([...read.value, ...formerOrders(content, read.value)]) : read;
  },
};

/**
 * Cancels orders under their former name: an order that is split or has a backorder is renamed from `WH/MO/7` to
 * `WH/MO/7-001`, and no later message has the former name.
 */
function formerOrders(
  { json }: DocumentContent,
  messages: readonly OrderMessage[],
): OrderMessage[] {
  const firstParts = recordsIn(json, ENVELOPES).filter(
    ({ fields }) => field(fields, 'backorder_sequence') === 1,
  );
  const names = new Set(firstParts.map(({ fields }) => field(fields, 'name')));
  return messages.flatMap(({ order: { orderId, changedAt } }): OrderMessage[] => {
    const former = names.has(orderId) ? /^(.+)-001$/.exec(orderId)?.[1] : undefined;
    if (former === undefined) return [];
    return [{ kind: 'change', order: { orderId: former, changedAt, status: 'cancelled' } }];
  });
}

/** A webhook names the model; records from an API have fields that only one model has. */
function modelOf(fields: JsonObject): unknown {
  const model = field(fields, '_model');
  if (model !== undefined) return model;
  if (Object.hasOwn(fields, 'workorder_ids')) return 'mrp.production';
  const isWorkOrder = ['production_id', 'workcenter_id'].every((name) =>
    Object.hasOwn(fields, name),
  );
  return isWorkOrder ? 'mrp.workorder' : undefined;
}

/** The name of a referenced record: `read` answers `[id, name]`, `web_read` an object, a webhook only the id. */
function nameOf(value: unknown): unknown {
  if (Array.isArray(value)) return value[1];
  return isJsonObject(value) ? field(value, 'display_name') : undefined;
}

function nameOrId(name: string): FieldReader<string> {
  return fieldReader([name], (value) => {
    const found = nameOf(value) ?? value;
    if (typeof found === 'string' && found.trim() !== '') return { value: found.trim() };
    if (Number.isSafeInteger(found)) return { value: String(found) };
    return { problem: 'must be an id, or an id with its name' };
  });
}

/** The order's name. With only its id, the name is taken from the work order's barcode, `<name>/<id>`. */
function productionOf(name: string): FieldReader<string> {
  return fieldReader([name], (value, _context, fields) => {
    const found = nameOf(value);
    if (typeof found === 'string' && found.trim() !== '') return { value: found.trim() };
    const barcode = field(fields, 'barcode');
    const end = typeof barcode === 'string' ? barcode.lastIndexOf('/') : -1;
    if (typeof barcode === 'string' && end > 0) return { value: barcode.slice(0, end) };
    return { problem: 'is an id without the name of the order: send barcode, too' };
  });
}
