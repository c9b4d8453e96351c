import type { OrderStatus } from '#libs/contracts';

import { textOf, type DocumentElement } from '../xml/document-element.js';

/** RequestState, SegmentState and ScheduleState, and DispatchStatus of a job order; `Other` says nothing. */
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
