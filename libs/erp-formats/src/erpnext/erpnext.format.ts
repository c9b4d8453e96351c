import { status, text, textOrNumber, time } from '../json/field-reader.js';
import { orderFormat } from '../json/order-table.js';

/** The document `Work Order` of ERPNext, from its REST API and its webhooks. */
export const erpNext = orderFormat({
  name: 'ERPNext Work Order',
  envelopes: ['data', 'message', 'doc'],
  kindOf: ({ fields }) => (fields['doctype'] === 'Work Order' ? 'order' : undefined),
  sign: { field: 'doctype', besides: ['docstatus', 'production_item', 'bom_no'] },
  order: {
    orderId: text('name'),
    changedAt: time('plant, change', 'modified'),
    status: status(
      {
        Draft: 'planned',
        Submitted: 'released',
        'Not Started': 'released',
        'Stock Reserved': 'released',
        'Stock Partially Reserved': 'released',
        'In Process': 'started',
        Stopped: 'held',
        Completed: 'completed',
        Closed: 'completed',
        Cancelled: 'cancelled',
      },
      'status',
    ),
  },
  operations: ['operations'],
  operation: {
    // a row's name is random, and two rows may have the same operation
    operationId: textOrNumber('idx'),
    workCentre: text('workstation'),
    status: status(
      { Pending: undefined, 'Work in Progress': 'started', Completed: 'completed' },
      'status',
    ),
    plannedStart: time('plant', 'planned_start_time'),
  },
});
