export { type AppliedList, WorkOrderLists } from './work-order-lists.js';
export { WorkOrdersModule } from './work-orders.module.js';
