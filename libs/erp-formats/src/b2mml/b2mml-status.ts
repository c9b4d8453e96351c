import type { OrderStatus } from '#libs/contracts';

import type { KnownTexts } from '../xml/check-fields.js';
import { textOf, type DocumentElement } from '../xml/document-element.js';

/** By what is written, in lower case; undefined for what counts as none. */
type StatusByValue = ReadonlyMap<string, OrderStatus | undefined>;

/** Statuses by the values of all four kinds of state. */
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

/** Any other, taken for none, would put an order on its list, or take it off. */
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

/** Status of the schedule or request around it, where that has one. */
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
