/**
 * The rules of the order ledger, pure: which version of an order counts ({@link applyToOrder}), on which machines its
 * operations are ({@link placeOrder}), in which order a machine's list has them ({@link AssignmentTable}), and how orders
 * and assignments are stored.
 */
export { type AssignedOperation } from './assigned-operation.js';
export { AssignmentTable } from './assignment-table.js';
export { FinishedOrders } from './finished-orders.js';
export { isAhead, isFinished, type KnownOrder, type MessagePosition } from './known-order.js';
export { type MachineOf, placeOrder, rejectUnmapped } from './place-order.js';
export {
  assignmentKey,
  fromStoredAssignment,
  placeOfKey,
  toStoredAssignment,
} from './stored-assignment.js';
export { fromStoredOrder, toStoredOrder } from './stored-order.js';
export {
  type OrderFinding,
  applyToOrder,
  type AppliedOrder,
  type ReceivedOrder,
} from './apply-to-order.js';
