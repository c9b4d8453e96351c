export { MachineStates } from './machine-states.js';
export { MachineStatesModule } from './machine-states.module.js';
export { MachineTracking } from './machine-tracking.js';
