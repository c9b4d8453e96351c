/**
 * States of machines, from polls and activity logs to `machine.state-changes.v1` and `machine.states.v1`. `polling/`
 * owns the turns and the calls, `derivation/` is pure (what is known, an answer and the time in; events out),
 * `publication/` writes events and what is known in one transaction. A machine is *unknown* until its first answer,
 * then observed (*ok*), *lost* for a reason, or *removed*; memory follows the commit, never the other way round.
 */
export { MachineStates } from './machine-states.js';
export { MachineStatesModule } from './machine-states.module.js';
