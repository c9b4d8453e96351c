/**
 * Pure mechanisms of delivery that several rooms use, without Kafka and without the service; times are handed in. Call
 * slots, back-off, what is due when, the breaker of polls, and which offsets of a partition are finished
 * ({@link ContiguousOffsets}, {@link FinishedAhead}, {@link DoneItems}).
 */
export { backOffMs, type BackOffOptions } from './back-off.js';
export { type CallPermit, CallSlots } from './call-slots.js';
export { DueQueue } from './due-queue.js';
export { ContiguousOffsets, DoneItems, FinishedAhead } from './finished-offsets.js';
export { type AdmittedCall, type CallEnd, StandstillBreaker } from './standstill-breaker.js';
