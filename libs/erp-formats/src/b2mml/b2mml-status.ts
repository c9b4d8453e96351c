import { parsed, rejected, type OrderStatus, type Parsed } from '#libs/contracts';

import { elements, pathOf, textOf, type DocumentElement } from '../xml/document-element.js';

const STATES = ['DispatchStatus', 'RequestState', 'SegmentState', 'ScheduleState'] as const;
/** What a state is where the sender has one of its own. */
const UNSAID = 'other';

/** Of all four kinds of state. */
const STATUS_BY_STATE: ReadonlyMap<string, OrderStatus> = new Map([
  ['forecast', 'planned'],
  ['waiting', 'planned'],
  ['pending', 'planned'],
  ['released', 'released'],
  ['ready', 'released'],
  ['dispatched', 'released'],
  ['running', 'started'],
  ['held', 'held'],
  ['paused', 'held'],
  ['suspended', 'held'],
  ['completed', 'completed'],
  ['closed', 'completed'],
  ['cancelled', 'cancelled'],
  ['canceled', 'cancelled'],
  ['aborted', 'cancelled'],
]);

/** What a command makes of a job order; it counts where no status stands beside it. */
const STATUS_BY_COMMAND: ReadonlyMap<string, OrderStatus> = new Map([
  ['start', 'started'],
  ['restart', 'started'],
  ['resume', 'started'],
  ['hold', 'held'],
  ['pause', 'held'],
  ['stop', 'completed'],
  ['abort', 'cancelled'],
]);

/** Refuses a state that nothing is known of: taken for none, it would put an order on its list, or take it off. */
export function checkStates(order: DocumentElement): Parsed<undefined> {
  for (let at = order.parent; at !== null; at = at.parent) {
    const above = checkOwnStates(at);
    if (!above.ok) return above;
  }
  return checkStatesWithin(order);
}

function checkStatesWithin(element: DocumentElement): Parsed<undefined> {
  const own = checkOwnStates(element);
  if (!own.ok) return own;
  for (const segment of elements(element, 'SegmentRequirement')) {
    const within = checkStatesWithin(segment);
    if (!within.ok) return within;
  }
  return own;
}

function checkOwnStates(element: DocumentElement): Parsed<undefined> {
  for (const name of STATES) {
    const state = textOf(element, name);
    if (state === undefined || isKnown(state.toLowerCase())) continue;
    return rejected('invalid-message', `${pathOf(element, name)} is none of B2MML: ${state}`);
  }
  return parsed(undefined);
}

function isKnown(state: string): boolean {
  return state === UNSAID || STATUS_BY_STATE.has(state);
}

export function statusOfOrder(order: DocumentElement): OrderStatus | undefined {
  return (
    stateOf(order, 'DispatchStatus') ??
    stateOf(order, 'RequestState') ??
    STATUS_BY_COMMAND.get(textOf(order, 'Command')?.toLowerCase() ?? '') ??
    statusAbove(order.parent)
  );
}

export function statusOfSegment(segment: DocumentElement): OrderStatus | undefined {
  return stateOf(segment, 'SegmentState');
}

/** Of the schedule or request around it, where that has one. */
function statusAbove(element: DocumentElement | null): OrderStatus | undefined {
  if (element === null) return undefined;
  const own = stateOf(element, 'ScheduleState') ?? stateOf(element, 'RequestState');
  return own ?? statusAbove(element.parent);
}

function stateOf(element: DocumentElement, name: string): OrderStatus | undefined {
  return STATUS_BY_STATE.get(textOf(element, name)?.toLowerCase() ?? '');
}
