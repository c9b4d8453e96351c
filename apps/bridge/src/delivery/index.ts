/**
 * The delivery of commands to the service. A `CommandDispatcher` runs one flow. It owns the flow's lanes (waiting
 * commands by machine), the caller (makes calls, classifies their answers) and the status (whether calls get through).
 * `CallSlots` bounds the calls of all flows. A command is *waiting* in its lane, *under way* in a call, then *final*,
 * or waiting again. `MessageResults` collects the results of a message's commands; `CommandOutcomes` turns them into
 * records. Reaches the service only through `DispatcherOptions`, and Kafka not at all.
 */
export { CommandDispatcher } from './command-dispatcher.js';
export { CommandOutcomes, type RecentOutcome } from './command-outcomes.js';
export {
  type Admission,
  type CallAnswer,
  type Command,
  type CommandResult,
  GO,
  type InboundTarget,
  MessageResults,
  notHandled,
  notStored,
  type OutcomeTarget,
  type DecidePrecedence,
  type Precedence,
  type RecordsOf,
  type RejectedResult,
  rejection,
  type SetList,
  type TracedPermit,
} from './command.js';
export { DeliveryModule } from './delivery.module.js';
export { Breaker } from './flow-status.js';
export { LaneQueue } from './lane-queue.js';
export { RETRY_BACK_OFF, type RetryCause } from './verdict.js';
