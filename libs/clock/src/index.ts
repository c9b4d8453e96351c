// The time of the plant, which may be accelerated; real time for waits and deadlines; shifts.
export {
  abortable,
  afterRealMs,
  Clock,
  type ClockOptions,
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
} from './clock.js';
export { ManualClock } from './manual-clock.js';
export { type Shift, ShiftCalendar } from './shift-calendar.js';
