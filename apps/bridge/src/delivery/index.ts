/**
 * A command's way to the service, and what became of it. `CommandDispatcher` is a flow: it owns its lanes (what waits,
 * machine by machine), the caller (makes calls and judges their answers) and the status (whether anything gets
 * through). `CallSlots` bounds the calls of all flows. A command is *waiting* in its lane, *under way* in a call, then
 * *final*, or waiting again. `MessageResults` collects what became of a message's commands; `CommandOutcomes` turns that
 * into records. Touches the service through the options of the flow alone, and Kafka not at all.
 */
export { CommandDispatcher } from './command-dispatcher.js';
export { CommandOutcomes } from './command-outcomes.js';
export {
  type Admission,
  type CallAnswer,
  type Command,
  type CommandResult,
  GO,
  type InboundTarget,
  MessageResults,
  notHandled,
  notTaken,
  type OutcomeTarget,
  type Precede,
  type Precedence,
  type RecordsOf,
  type RejectedResult,
  rejection,
  type SetList,
  type TracedPermit,
} from './command.js';
export { DeliveryModule } from './delivery.module.js';
export { Breaker } from './flow-status.js';
export { type LaneEntry, LaneQueue } from './lane-queue.js';
export type { RecentOutcome } from './recent-outcomes.js';
export { RETRY_BACK_OFF, type RetryCause } from './verdict.js';
