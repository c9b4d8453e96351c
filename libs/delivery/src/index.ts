export { backOffMs, type BackOffOptions } from './back-off.js';
export { ConcurrencyLimit } from './concurrency-limit.js';
export { ContiguousOffsets } from './contiguous-offsets.js';
export { judgeAnswer, type ServiceAnswer, type Verdict } from './judge-answer.js';
export { type BatchLimits, type QueuedList } from './list-batch.js';
export { ListQueue } from './list-queue.js';
export { Lanes } from './lanes.js';
export { type Conduct } from './suspicion.js';
