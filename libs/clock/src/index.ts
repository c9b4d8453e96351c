// The time of the plant, which may be accelerated; real time for waits and deadlines; shifts.
export { abortable, onAbort, whenAllAbort, whenAnyAborts } from './abort.js';
export { Clock, type ClockOptions } from './clock.js';
export { ManualClock } from './manual-clock.js';
export {
  afterRealMs,
  everyRealMs,
  realDelayMs,
  realEpochMs,
  realNowMs,
  WakeTimer,
  withDeadline,
} from './real-time.js';
export { type Shift, ShiftCalendar } from './shift-calendar.js';
