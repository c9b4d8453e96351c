export {
  classificationPeriods,
  type ClassificationPeriod,
  type ReceivedClassification,
} from './classification-periods.js';
export { LATEST_EPOCH_SECONDS } from './epoch-seconds.js';
export { LONGEST_IDENTIFIER } from './identifier.js';
export { MACHINE_STATES, type MachineState } from './machine-state.js';
export type { PlantMachine } from './plant-machine.js';
export { Plant } from './plant.js';
export { readTimelineScript } from './read-timeline-script.js';
export { seededRandom } from './seeded-random.js';
export { simulateMachines } from './simulate-machines.js';
export { periodsBetween } from './timeline.js';
export {
  type StatePeriod,
  toStatePeriods,
  visiblePeriods,
  visibleState,
} from './visible-states.js';
