import type { OrderStatus } from '#libs/contracts';

import type { KnownTexts } from '../xml/check-fields.js';
import { textOf, type DocumentElement } from '../xml/document-element.js';

/** Statuses by text in lower case; undefined for a text that does not determine one. */
type StatusByValue = ReadonlyMap<string, OrderStatus | undefined>;

/** The values of all four state fields. */
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
  // a value of the sender's own
  ['other', undefined],
]);

/** A job order's status after a command, used where the order has no state. */
const STATUS_BY_COMMAND: StatusByValue = new Map<string, OrderStatus | undefined>([
  ['start', 'started'],
  ['restart', 'started'],
  ['resume', 'started'],
  ['hold', 'held'],
  ['pause', 'held'],
  ['stop', 'completed'],
  ['abort', 'cancelled'],
  // names the state that the job order leaves, not the next one
  ['reset', undefined],
  ['other', undefined],
]);

/** If an unknown value counted as absent, the order would wrongly be put on a list or taken off. */
const otherwise = 'is none of B2MML';
export const STATE: KnownTexts = { known: STATUS_BY_STATE, otherwise };
export const COMMAND: KnownTexts = { known: STATUS_BY_COMMAND, otherwise };

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

/** Status of the nearest schedule or request around the order that has one. */
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
