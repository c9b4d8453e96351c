export { type Caller } from './caller.js';
export { type CloudAnswer } from './cloud-answer.js';
export { CloudError, type CloudErrorCode } from './cloud-error.js';
export { type CloudCall, type CloudClientOptions } from './cloud-client-options.js';
export { type IncompleteEntries } from './list-entries.js';
export { MachineCloudClient } from './machine-cloud-client.js';
export {
  type ActivityLogEntry,
  type ClassificationReason,
  type MachineInfo,
  type MachineStateReading,
} from './machine-data.js';
export { type Operation } from './operations.js';
export { type ClockOffset } from './service-clock.js';
export { fixedToken, type TokenWay } from './token/token-way.js';
