export { ListFencesState } from './list-fences-state.js';
export { type AppliedList, WorkOrderLists } from './work-order-lists.js';
export { WorkOrdersModule } from './work-orders.module.js';
