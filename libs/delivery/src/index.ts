/**
 * Pure mechanisms of delivery, without Kafka and without the service; times are handed in. Lanes by machine with batch
 * limits ({@link LaneQueue}), breakers, call slots, back-off, and which offsets of a partition are finished
 * ({@link ContiguousOffsets}, {@link FinishedAhead}, {@link DoneItems}).
 */
export { backOffMs, type BackOffOptions } from './back-off.js';
export { Breaker, type CallFailure } from './breaker.js';
export { type CallPermit, CallSlots } from './call-slots.js';
export { ContiguousOffsets, FinishedAhead } from './contiguous-offsets.js';
export { DoneItems } from './done-items.js';
export { DueQueue } from './due-queue.js';
export {
  classifyAnswer,
  RETRY_BACK_OFF,
  type RetryCause,
  type ServiceAnswer,
  type Verdict,
} from './classify-answer.js';
export {
  type BatchLimits,
  type CallQuality,
  type LaneEntry,
  LaneQueue,
  type SlowCall,
} from './lane-queue.js';
export { type AdmittedCall, type CallEnd, StandstillBreaker } from './standstill-breaker.js';
