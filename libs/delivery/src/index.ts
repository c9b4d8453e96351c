/** Pure mechanisms of waiting that several folders use; times are handed in: back-off, slots, probes, what is due when. */
export { backOffMs, type BackOffOptions } from './back-off.js';
export { type CallPermit, CallSlots, Semaphore } from './call-slots.js';
export { DueQueue } from './due-queue.js';
export { ProbingBreaker } from './probing-breaker.js';
