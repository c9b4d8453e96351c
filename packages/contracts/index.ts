export { DEAD_LETTER_HEADERS } from '../../libs/contracts/src/dead-letters.js';
export {
  type CommandOutcome,
  OUTCOME_TYPES,
  type OutcomeSource,
  type OutcomeType,
} from '../../libs/contracts/src/command-outcomes.js';
export {
  type ClassificationReasonsRecord,
  MACHINE_STATES,
  type MachineRegistryRecord,
  type MachineState,
  type MachineStateRecord,
  type ObservationLossReason,
  type ObservationLost,
  type ObservationRestored,
  STATE_EVENT_TYPES,
  type StateChanged,
  type StateCorrected,
  type StateEvent,
  type StateEventType,
} from '../../libs/contracts/src/machine-records.js';
export { REJECTION_CODES, type RejectionCode } from '../../libs/contracts/src/rejection.js';
export {
  deadLetterTopic,
  INPUT_TOPICS,
  type InputTopic,
  type TopicName,
  TOPICS,
} from '../../libs/contracts/src/topics.js';
