export { Equipment } from './equipment.js';
export { EquipmentModule } from './equipment.module.js';
export { type UnmappedWorkCentre, UnmappedWorkCentres } from './unmapped-work-centres.js';
