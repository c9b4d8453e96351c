/**
 * Which machines exist and which downtime reasons each takes, as the service lists them (interface: getMachineInfo,
 * getMachineClassification). Owns the machine list and the reason lists; looks up what a command names and no list
 * has, and publishes reasons when they change. A list is *unread*, then *loaded*, and is replaced by each later read.
 * A name that one list alone leaves out is not judged *unknown*: see {@link Absence}. Calls the service and writes
 * `machine.classification-reasons.v1`; knows nothing of commands.
 */
export { MachineDirectory } from './machine-directory.js';
export { describeFailure, type FailedAnswer } from './directory-answer.js';
export { MachineDirectoryModule } from './machine-directory.module.js';
export { Absence, MIN_GAP_MS as LOOK_UP_GAP_MS } from './look-ups.js';
export { PassedOverEntries } from './passed-over-entries.js';
export { ReasonLists } from './reason-lists.js';
export { ReasonRefresh } from './reason-refresh.js';
