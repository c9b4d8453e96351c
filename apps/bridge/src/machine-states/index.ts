/**
 * States of machines, from polls and activity logs to `machine.state-changes.v1` and `machine.states.v1`. `polling/`
 * schedules and makes calls. `derivation/` is pure: events from the tracked machine, an answer and the time.
 * `publication/` commits events and tracked machine in one transaction, before memory changes. A machine is *unknown*
 * until its first answer, then observed (*ok*), *lost* for a reason, or *removed*.
 */
export { MachineStates } from './machine-states.js';
export { MachineStatesModule } from './machine-states.module.js';
