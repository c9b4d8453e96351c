// The contract with other programs: topics, messages, events and codes. Imports no other lib.
export * from './command-outcomes.js';
export * from './dead-letters.js';
export * from './envelope.js';
export { describeAhead, readEpochSeconds, rfc3339 } from './epoch-seconds.js';
export * from './flows.js';
export * from './input-messages.js';
export * from './json.js';
export * from './machine-records.js';
export { isIdentifier, MAX_LIST_LENGTH, uriDecoded } from './message-fields.js';
export * from './orders.js';
export {
  naming,
  parsed,
  type Parsed,
  parsedEach,
  printable,
  type Refused,
  rejected,
  type Rejection,
  REJECTION_CODES,
  type RejectionCode,
} from './rejection.js';
export {
  carriesJson,
  describeSchema,
  framed,
  type FramedMessage,
  type SchemaFrame,
  schemaFrameOf,
  type SchemaReference,
  withoutFrame,
} from './schema-frame.js';
export { epochSecondsOf, type LocalTime, offsetSeconds, utcSeconds } from './time-zone.js';
export * from './topics.js';
