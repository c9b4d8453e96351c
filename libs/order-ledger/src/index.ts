/**
 * The rules of the order ledger, pure: how a message changes an order ({@link applyOrderMessage}), which version of an
 * order counts and on which machines its operations are ({@link applyToOrder}), how a machine's list is sorted
 * ({@link AssignmentTable}), and how orders and assignments are stored.
 */
export { applyOrderMessage } from './apply-order-message.js';
export {
  type AssignedOperation,
  AssignmentTable,
  fromStoredAssignment,
  toStoredAssignment,
} from './assignment-table.js';
export {
  FinishedOrders,
  fromStoredOrder,
  isDatedAhead,
  isFinished,
  type KnownOrder,
  type MessagePosition,
  toStoredOrder,
} from './known-order.js';
export {
  type AppliedOrder,
  applyToOrder,
  type MachineOf,
  type OrderFinding,
  rejectUnmapped,
  unmappedOperations,
} from './apply-to-order.js';
