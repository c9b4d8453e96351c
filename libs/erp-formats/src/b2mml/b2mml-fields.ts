import { parsed, type Parsed } from '#libs/contracts';

import { checkFields, type FieldRules } from '../xml/check-fields.js';
import type { DocumentElement } from '../xml/document-element.js';

const STATES = {
  DispatchStatus: 'text',
  RequestState: 'text',
  SegmentState: 'text',
  ScheduleState: 'text',
} as const;
/** A name for people may stand in their place, which says nothing of equipment. */
const SCOPES = { HierarchyScope: 'text or element', Location: 'text or element' } as const;
const REQUIRED = { EquipmentRequirement: 'elements', SegmentRequirement: 'elements' } as const;

const ABOVE_ORDERS = { ...STATES, ...SCOPES } as const;
const ORDER = {
  ...ABOVE_ORDERS,
  ...REQUIRED,
  ID: 'text',
  Command: 'text',
  StartTime: 'text',
} as const;
const LEVEL = { EquipmentElementLevel: 'text', EquipmentLevel: 'text' } as const;
const SCOPE = { ...SCOPES, ...LEVEL, EquipmentID: 'text' } as const;

const RULES: FieldRules = {
  ProductionRequest: ORDER,
  OperationsRequest: ORDER,
  JobOrder: ORDER,
  SegmentRequirement: {
    ...STATES,
    ...SCOPES,
    ...REQUIRED,
    ID: 'text',
    ProcessSegmentID: 'text',
    ProductSegmentID: 'text',
    EarliestStartTime: 'text',
  },
  EquipmentRequirement: {
    ...SCOPES,
    EquipmentID: 'texts',
    EquipmentLevel: 'text or element',
    EquipmentRequirement: 'elements',
  },
  EquipmentLevel: LEVEL,
  HierarchyScope: SCOPE,
  Location: SCOPE,
};

/** Refuses fields of orders, and of what they stand in, that are given twice or hold what they do not. */
export function checkB2mmlFields(orders: readonly DocumentElement[]): Parsed<undefined> {
  // the schedule of ten thousand orders is looked at once
  for (const above of new Set(orders.flatMap(elementsAbove))) {
    const checked = checkFields(above, RULES, ABOVE_ORDERS);
    if (!checked.ok) return checked;
  }
  for (const order of orders) {
    const checked = checkFields(order, RULES);
    if (!checked.ok) return checked;
  }
  return parsed(undefined);
}

function elementsAbove({ parent }: DocumentElement): DocumentElement[] {
  return parent === null ? [] : [...elementsAbove(parent), parent];
}
