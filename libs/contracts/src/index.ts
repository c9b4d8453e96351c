// The contract with other programs: topics, messages, events and codes. Imports no other lib.
export * from './command-outcomes.js';
export * from './dead-letters.js';
export * from './envelope.js';
export * from './flows.js';
export * from './input-messages.js';
export * from './json.js';
export * from './machine-records.js';
export {
  describeAhead,
  FIRST_IMPLAUSIBLE_SECOND,
  isIdentifier,
  MAX_LIST_LENGTH,
  readEpochSeconds,
  rfc3339,
  uriDecoded,
} from './message-fields.js';
export * from './orders.js';
export * from './rejection.js';
export * from './time-zone.js';
export * from './topics.js';
