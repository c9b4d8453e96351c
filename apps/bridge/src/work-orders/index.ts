export { type AppliedList, WorkOrderLists } from './lists/work-order-lists.js';
export { OrderPreview, type PreviewedDocument } from './orders/order-preview.js';
export { WORK_ORDER_QUEUES } from './orders/queues.js';
export { WorkOrderTopics } from './work-order-topics.js';
export { WorkOrdersModule } from './work-orders.module.js';
