// The Machine Data Service: its six operations and their dialects.
export {
  type HttpAnswer,
  describeUnauthorised,
  type IncompleteEntries,
  type Unauthorised,
} from '#libs/http-calls';
export { type Caller, MachineCloudClient } from './machine-cloud-client.js';
export {
  type ActivityLogEntry,
  type ClassificationReason,
  type MachineInfo,
  type MachineStateReading,
} from './parse-answers.js';
export { type ClockOffset } from './service-clock.js';
