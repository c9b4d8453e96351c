/** The equipment map of operators, read again when its file changes, and work centres it lacks. Knows no flow. */
export { Equipment } from './equipment.js';
export { EquipmentModule } from './equipment.module.js';
export { type UnmappedWorkCentre, UnmappedWorkCentres } from './unmapped-work-centres.js';
