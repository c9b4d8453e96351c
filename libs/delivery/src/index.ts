/** Pure mechanisms of waiting that several rooms use; times are handed in: back-off, and what is due when. */
export { backOffMs, type BackOffOptions } from './back-off.js';
export { DueQueue } from './due-queue.js';
