export { announceDeferral } from './announce-deferral.js';
export { CommandDeliveryModule } from './command-delivery.module.js';
export { askUntilTold, type Refusal } from './ask-until-told.js';
export { CommandFlow } from './command-flow.js';
export { FlowStatus } from './flow-status.js';
export { Forbidden } from './forbidden.js';
export { type AnsweredMessage, openMessage } from './answered-message.js';
export { CommandOutcomes } from './command-outcomes.js';
export { type CommandResult, rejection } from './command-result.js';
