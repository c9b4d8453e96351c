export * from './cloud-event-headers.js';
export * from './command-outcomes.js';
export * from './dead-letter-headers.js';
export { deadLetterFields, originalHeaders, type DeadLetterFields } from './dead-letter-fields.js';
export { parseDowntimeReason, startInFuture, type DowntimeReason } from './downtime-reason.js';
export type { Envelope } from './envelope.js';
export { describeAhead, readEpochSeconds, rfc3339, type TimeReading } from './epoch-seconds.js';
export * from './event-ids.js';
export { MAX_LIST_LENGTH } from './field-rules.js';
export { isIdentifier } from './identifier.js';
export { describeJson, isJsonObject, type JsonObject } from './json-object.js';
export * from './machine-directory-records.js';
export * from './machine-state-events.js';
export { charsetOf, isJsonType, mediaType } from './media-type.js';
export * from './message-headers.js';
export { messageIdOf, openEnvelope } from './open-envelope.js';
export { applyOrderMessage, type OrderApplication } from './apply-order-message.js';
export { parseOrderChange, type OrderChange } from './order-change.js';
export { isOlderVersion, type OrderFence, type OrderVersion } from './order-fence.js';
export type { OrderMessage } from './order-message.js';
export type { OperationChange, OrderOperation } from './order-operation.js';
export { outcomeJson } from './outcome-json.js';
export { parseOrderMessage, type OrderSnapshot } from './order-snapshot.js';
export { ORDER_STATUSES, type OrderStatus } from './order-status.js';
export { operationIdAt } from './replaced-operations.js';
export { MAX_BODY_BYTES, readJson, tooLarge } from './read-json.js';
export {
  parsed,
  printable,
  rejected,
  REJECTION_CODES,
  type Parsed,
  type Refused,
  type Rejection,
  type RejectionCode,
} from './rejection.js';
export * from './topics.js';
export type { WorkOrderAssignment } from './work-order-assignment.js';
export {
  parseWorkOrderLists,
  refuseIssuedAhead,
  type WorkOrderListFault,
  type WorkOrderListMessage,
} from './work-order-lists.js';
