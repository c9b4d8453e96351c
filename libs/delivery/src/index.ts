/** Pure mechanisms of waiting that several rooms use; times are handed in: back-off, slots, and what is due when. */
export { backOffMs, type BackOffOptions } from './back-off.js';
export { type CallPermit, CallSlots, Semaphore } from './call-slots.js';
export { DueQueue } from './due-queue.js';
