export { EquipmentMap } from './equipment/equipment-map.js';
export {
  EquipmentMapError,
  equipmentMapFormat,
  parseEquipmentMap,
  type EquipmentMapEntry,
} from './equipment/parse-equipment-map.js';
export type { Evaluation, EvaluationRequest, Expressions } from './mapping/expressions.js';
export type { MappingEntry } from './mapping/mapping-entry.js';
export { OrderMapping, type MappedFormat } from './mapping/order-mapping.js';
export { OrderMappingError, parseOrderMapping } from './mapping/parse-order-mapping.js';
export type { OrderDocument, OrderDocumentOptions } from './document/order-format.js';
export { readOrderDocument } from './read-order-document.js';
export { readOrders, type OrderReadOptions } from './read-orders.js';
export { offsetSeconds } from './time/local-time.js';
export { sourceTopicOf } from './umh/umh-topic.js';
export { UMH_TOPIC_MISSING } from './umh/umh-work-order.js';
