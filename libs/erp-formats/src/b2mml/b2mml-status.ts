import { parsed, rejected, type OrderStatus, type Parsed } from '#libs/contracts';

import { elements, pathOf, textOf, type DocumentElement } from '../xml/document-element.js';

const STATES = ['DispatchStatus', 'RequestState', 'SegmentState', 'ScheduleState'] as const;

/** By what is written, in lower case; undefined for what counts as none. */
type StatusByValue = ReadonlyMap<string, OrderStatus | undefined>;

/** Of all four kinds of state. */
const STATUS_BY_STATE: StatusByValue = new Map<string, OrderStatus | undefined>([
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
  // the sender has one of its own
  ['other', undefined],
]);

/** What a command makes of a job order; it counts where no status stands beside it. */
const STATUS_BY_COMMAND: StatusByValue = new Map<string, OrderStatus | undefined>([
  ['start', 'started'],
  ['restart', 'started'],
  ['resume', 'started'],
  ['hold', 'held'],
  ['pause', 'held'],
  ['stop', 'completed'],
  ['abort', 'cancelled'],
  // says what the job order leaves, not where it gets to
  ['reset', undefined],
  ['other', undefined],
]);

/**
 * Refuses a state or a command that nothing is known of: taken for none, it would put an order on its list, or take
 * it off. Goes for the order and what is within it; {@link checkOwnStates} for what it stands in.
 */
export function checkStates(order: DocumentElement): Parsed<undefined> {
  const command = checkValue(order, 'Command', STATUS_BY_COMMAND);
  return command.ok ? checkStatesWithin(order) : command;
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

export function checkOwnStates(element: DocumentElement): Parsed<undefined> {
  for (const name of STATES) {
    const checked = checkValue(element, name, STATUS_BY_STATE);
    if (!checked.ok) return checked;
  }
  return parsed(undefined);
}

function checkValue(
  element: DocumentElement,
  name: string,
  known: StatusByValue,
): Parsed<undefined> {
  const value = textOf(element, name);
  if (value === undefined || known.has(value.toLowerCase())) return parsed(undefined);
  return rejected('invalid-message', `${pathOf(element, name)} is none of B2MML: ${value}`);
}

export function statusOfOrder(order: DocumentElement): OrderStatus | undefined {
  return (
    stateOf(order, 'DispatchStatus') ??
    stateOf(order, 'RequestState') ??
    stateOf(order, 'Command', STATUS_BY_COMMAND) ??
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

function stateOf(
  element: DocumentElement,
  name: string,
  statuses = STATUS_BY_STATE,
): OrderStatus | undefined {
  return statuses.get(textOf(element, name)?.toLowerCase() ?? '');
}
