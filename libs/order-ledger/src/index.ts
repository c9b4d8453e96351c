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
