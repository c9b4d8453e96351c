/**
 * Work order lists of machines, from replacement lists (`lists/`) and from orders (`orders/`), to the service
 * (interface, setWorkOrderList). `lists/` owns the flow of list commands and each machine's watermark: when its last
 * applied list was issued. `orders/` owns the ledger (the latest version of each order) and the assignments (operations
 * by machine). `equipment/` knows which machine a work centre is. `requests/` completes messages that only name an order:
 * it is *asked for* from its ERP.
 * An order is *relayed* to the partition of its id, *applied* to the ledger, and each *assignment change* goes to the
 * partition of its machine, which sets the list; a *refusal* goes back to the partition of the input, which writes the
 * dead letter. Every step is one transaction. Stands on delivery and the machine directory.
 */
export { type UnmappedWorkCentre, UnmappedWorkCentres } from './equipment/equipment.js';
export { type AppliedList, WorkOrderLists } from './lists/work-order-lists.js';
export { OrderRequests } from './requests/order-requests.js';
export { REQUEST_RESULTS } from './requests/erp-requests.js';
export { WorkOrdersModule, WorkOrderTopics } from './work-orders.module.js';
