// Converts ERP documents to order messages, by adapters or by operators' expressions; has the equipment map and the
// enrichment rules. Without I/O.
export {
  EquipmentMap,
  equipmentMapFormat,
  parseEquipmentMap,
  parseEquipmentMapAsync,
} from './equipment/equipment-map.js';
export {
  type Evaluation,
  type EvaluationRequest,
  type Expressions,
  type MappingEntry,
  matchesPattern,
  OrderMapping,
  parseOrderMapping,
} from './mapping/order-mapping.js';
export { groupBy } from './grouping/group-by.js';
export type { OrderDocument } from './document/order-format.js';
export { YAML_OPTIONS } from './document/settings-file.js';
export { readOrderDocument, readOrders } from './read-orders.js';
export { sourceTopicOf, UMH_TOPIC_MISSING } from './umh/umh.format.js';
export {
  type EnrichmentRule,
  EnrichmentRules,
  enrichmentUrl,
  type SecretPlace,
  type ThinEvent,
} from './enrichment/enrichment-rules.js';
export { parseEnrichmentRules } from './enrichment/parse-enrichment-rules.js';
