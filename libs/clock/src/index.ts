// The time of the plant, which may be accelerated; real time for waits and deadlines; shifts.
export { Clock, type ClockOptions } from './clock.js';
export { ManualClock } from './manual-clock.js';
export {
  abortable,
  afterRealMs,
  everyRealMs,
  onAbort,
  realDelayMs,
  realEpochMs,
  realNowMs,
  TIMED_OUT,
  WakeTimer,
  whenAllAbort,
  whenAnyAborts,
  withDeadline,
  withTimeout,
} from './real-time.js';
export { type Shift, ShiftCalendar } from './shift-calendar.js';
