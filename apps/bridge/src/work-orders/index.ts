export { type AppliedList, WorkOrderLists } from './lists/work-order-lists.js';
export { WorkOrderTopics } from './work-order-topics.js';
export { WorkOrdersModule } from './work-orders.module.js';
