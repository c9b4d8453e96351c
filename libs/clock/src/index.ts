export { abortable } from './abortable.js';
export { Clock, type ClockOptions } from './clock.js';
export { ManualClock } from './manual-clock.js';
export { onAbort } from './on-abort.js';
export { afterRealMs, everyRealMs, realDelayMs, realEpochMs, realNowMs } from './real-time.js';
export { type Shift, ShiftCalendar } from './shift-calendar.js';
export { whenAllAbort } from './when-all-abort.js';
