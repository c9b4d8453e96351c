export { backOffMs, type BackOffOptions } from './back-off.js';
export { Breaker } from './breaker.js';
export { type CallPermit, CallSlots } from './call-slots.js';
export { ContiguousOffsets, FinishedAhead } from './contiguous-offsets.js';
export { DoneItems } from './done-items.js';
export { DueQueue } from './due-queue.js';
export { type Failure } from './failures-in-a-row.js';
export {
  judgeAnswer,
  RETRY_BACK_OFF,
  type RetryCause,
  type ServiceAnswer,
  type Verdict,
} from './judge-answer.js';
export { type BatchLimits, type LaneEntry, LaneQueue } from './lane-queue.js';
export { type Conduct, type SlowCall } from './lane.js';
export { type AdmittedCall, type CallEnd, StandstillBreaker } from './standstill-breaker.js';
