export { abortable, onAbort, whenAllAbort } from './abort.js';
export { Clock, type ClockOptions } from './clock.js';
export { withDeadline } from './deadline.js';
export { ManualClock } from './manual-clock.js';
export { RateLimit } from './rate-limit.js';
export { afterRealMs, everyRealMs, realDelayMs, realEpochMs, realNowMs } from './real-time.js';
export { type Shift, ShiftCalendar } from './shift-calendar.js';
