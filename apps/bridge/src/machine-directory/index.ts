export { describeFailure, type Failure } from './describe-failure.js';
export { MachineDirectory } from './machine-directory.js';
export { MachineDirectoryModule } from './machine-directory.module.js';
export { refuseUnknownMachine } from './refuse-unknown-machine.js';
