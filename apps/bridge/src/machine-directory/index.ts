/**
 * Machines, and the downtime reasons of each, as the service lists them (interface: getMachineInfo,
 * getMachineClassification). Owns the machine list and the reason lists; looks up names that are on no list,
 * and publishes reasons when they change. A list is *unread*, then *loaded*; each later read replaces it. A name that
 * only one list lacks is not *unknown* yet: see {@link Absence}. Calls the service and writes
 * `machine.classification-reasons.v1`; does not depend on commands.
 */
export { MachineDirectory } from './machine-directory.js';
export { MachineDirectoryModule } from './machine-directory.module.js';
export { Absence, describeFailure, type FailedAnswer, LOOK_UP_GAP_MS } from './look-ups.js';
export { PassedOverEntries } from './passed-over-entries.js';
export { ReasonLists } from './reason-lists.js';
export { ReasonRefresh } from './reason-refresh.js';
