import {
  applyOrderMessage,
  isOlderVersion,
  type OrderMessage,
  type OrderSnapshot,
} from '#libs/contracts';
import { type KnownOrder, wasTakenIn } from './known-order.js';
import { isBefore, type MessagePosition } from './message-position.js';

export type Meeting =
  | { kind: 'recorded'; order: OrderSnapshot }
  /** Delivered again, and what has come after it is known: `order` is that. */
  | { kind: 'repeated'; order: OrderSnapshot }
  /** It says less than is known already. */
  | { kind: 'superseded'; order: OrderSnapshot }
  /** All it tells of is done, of an order that is not known: it stays unknown. */
  | { kind: 'nothing-left'; order: OrderSnapshot }
  /** A change that does not say enough of an order nobody has sent, or that was finished. */
  | { kind: 'unknown-order' };

/**
 * What an order is, now that a message has told of it. As old as what is known counts as newer: an ERP
 * may change an order twice in a second. But not when the message was sent before the one that told what is
 * known: it would bring back what the later one has changed. In the same partition it is delivered again then.
 */
export function meetKnownOrder(
  known: KnownOrder | undefined,
  message: OrderMessage,
  position: MessagePosition,
): Meeting {
  const { orderId } = message.order;
  const order = known && snapshotOf(orderId, known);
  if (known !== undefined && order !== undefined) {
    // A newer one lies where another lay in a topic that has been made anew.
    const isNewer = isOlderVersion(order, message.order);
    if (!isNewer && wasTakenIn(position, known)) return { kind: 'repeated', order };
    const isAsOld = !isNewer && !isOlderVersion(message.order, order);
    if (isAsOld && isBefore(position, known.from)) {
      const isAgain = position.partition === known.from.partition;
      return { kind: isAgain ? 'repeated' : 'superseded', order };
    }
  }
  const application = applyOrderMessage(order, message);
  switch (application.kind) {
    case 'applied':
      return { kind: 'recorded', order: application.order };
    case 'superseded':
      return { kind: 'superseded', order: application.known };
    case 'nothing-left':
    case 'unknown-order':
      return application;
    default:
      return application satisfies never;
  }
}

function snapshotOf(orderId: string, known: KnownOrder): OrderSnapshot {
  const { changedAt, status, operations, fence } = known;
  return { orderId, changedAt, status, operations, ...(fence !== undefined && { fence }) };
}
