/**
 * Pure mechanisms of delivery that several rooms use, without Kafka and without the service; times are handed in. Call
 * slots, back-off, and what is due when.
 */
export { backOffMs, type BackOffOptions } from './back-off.js';
export { type CallPermit, CallSlots } from './call-slots.js';
export { DueQueue } from './due-queue.js';
