export { admitKnownMachine } from './admit-known-machine.js';
export { describeFailure, type Failure } from './describe-failure.js';
export { MachineDirectory } from './machine-directory.js';
export { MachineDirectoryModule } from './machine-directory.module.js';
export { ReasonRefresh } from './reason-refresh.js';
