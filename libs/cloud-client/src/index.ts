export { type CloudAnswer, CloudError, type CloudErrorCode } from './cloud-answer.js';
export { type CloudClientOptions } from './cloud-client-options.js';
export { type Caller, type CloudCall, type Operation, TIMED_OUT, withTimeout } from './exchange.js';
export { HttpTransport } from './http-transport.js';
export { type HttpsProxy } from './https-proxy.js';
export { MachineCloudClient } from './machine-cloud-client.js';
export {
  type ActivityLogEntry,
  type ClassificationReason,
  type MachineInfo,
  type MachineStateReading,
} from './machine-data.js';
export { type IncompleteEntries } from './parse-answers.js';
export { type ClockOffset } from './service-clock.js';
export { openClientCredentials } from './open-token-source.js';
export { type RenewedTokenSource } from './renewed-token-source.js';
export { fixedToken, type TokenWay } from './token-source.js';
