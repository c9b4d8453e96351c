export { Absence } from './absence.js';
export { admitKnownMachine } from './admit-known-machine.js';
export { describeFailure, type Failure } from './describe-failure.js';
export { MachineDirectory } from './machine-directory.js';
export { MachineDirectoryModule } from './machine-directory.module.js';
export { MIN_GAP_MS as LOOK_UP_GAP_MS } from './shared-look-up.js';
export { ReasonRefresh } from './reason-refresh.js';
