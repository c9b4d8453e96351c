export { type Admission, GO, type Unavailable } from './admission.js';
export {
  type AnsweredMessage,
  type MessageOrigin,
  openMessage,
  type OriginalMessage,
} from './answered-message.js';
export { type MessageAnswers } from './message-answers.js';
export { Command, CommandWaiter } from './command.js';
export { CommandDeliveryModule } from './command-delivery.module.js';
export { CommandDispatcher } from './command-dispatcher.js';
export { CommandOutcomes } from './command-outcomes.js';
export { type CommandResult, rejection } from './command-result.js';
export { acceptEach } from './accept-each.js';
export { type Precedence } from './dispatcher-options.js';
export { OutcomePublisher } from './outcome-publisher.js';
export { type RecentOutcome } from './recent-outcomes.js';
export { ToldOutcomes } from './told-outcomes.js';
