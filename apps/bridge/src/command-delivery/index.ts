export { announceDeferral } from './announce-deferral.js';
export { CommandDeliveryModule } from './command-delivery.module.js';
export { CommandFlow, type Refusal } from './command-flow.js';
export { type AnsweredMessage, openMessage } from './answered-message.js';
export { CommandOutcomes } from './command-outcomes.js';
export { type CommandResult, rejection } from './command-result.js';
