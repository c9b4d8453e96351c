export { EquipmentMap } from './equipment-map.js';
export {
  EquipmentMapError,
  parseEquipmentMap,
  type EquipmentMapEntry,
} from './parse-equipment-map.js';
export { readOrderDocument, type OrderDocument } from './read-order-document.js';
