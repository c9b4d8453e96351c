export {
  EquipmentMap,
  type EquipmentMapEntry,
  EquipmentMapError,
  equipmentMapFormat,
  parseEquipmentMap,
  parseEquipmentMapAside,
  YAML_OPTIONS,
} from './equipment/equipment-map.js';
export {
  type Evaluation,
  type EvaluationRequest,
  type Expressions,
  type MappedFormat,
  type MappingEntry,
  OrderMapping,
} from './mapping/order-mapping.js';
export { OrderMappingError, parseOrderMapping } from './mapping/parse-order-mapping.js';
export type { OrderDocument, OrderDocumentOptions } from './document/order-format.js';
export { type OrderReadOptions, readOrderDocument, readOrders } from './read-orders.js';
export { offsetSeconds } from './time/local-time.js';
export { sourceTopicOf } from './umh/umh-topic.js';
export { UMH_TOPIC_MISSING } from './umh/umh.format.js';
export {
  type EnrichmentAuth,
  type EnrichmentRule,
  EnrichmentRules,
  enrichmentUrl,
  type SecretPlace,
  type ThinEvent,
} from './enrichment/enrichment-rules.js';
export { EnrichmentRulesError, parseEnrichmentRules } from './enrichment/parse-enrichment-rules.js';
