/**
 * Work order lists of machines, from replacement lists (`lists/`) and from orders (`orders/`), to the service
 * (interface, setWorkOrderList). `lists/` owns the flow of list commands and each machine's watermark, the time its
 * last applied list was issued. `orders/` owns the ledger (the latest version of each order) and the assignments
 * (operations by machine). `equipment/` maps work centres to machines. `requests/` gets from the ERP the
 * orders that messages only name. An order is *relayed* to the partition of its id and *applied* to the ledger. Each
 * *assignment change* goes to the partition of its machine, where the list is set. A *refusal* goes back to the partition of the
 * input message, where the dead letter is written. Every step is one transaction. Uses delivery and the machine
 * directory.
 */
export { type UnmappedWorkCentre, UnmappedWorkCentres } from './equipment/equipment.js';
export { type AppliedList, WorkOrderLists } from './lists/work-order-lists.js';
export { OrderRequests } from './requests/order-requests.js';
export { REQUEST_RESULTS } from './requests/erp-requests.js';
export { WorkOrdersModule, WorkOrderTopics } from './work-orders.module.js';
