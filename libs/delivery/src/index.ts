/** Back-off, call slots, breaker probes and a queue by due time, for several folders. Pure: times are handed in. */
export { backOffMs, type BackOffOptions } from './back-off.js';
export { type CallPermit, CallSlots, Semaphore } from './call-slots.js';
export { DueQueue } from './due-queue.js';
export { ProbingBreaker } from './probing-breaker.js';
