/**
 * Flows that operators pause by hand, and the state of the group's flows by process. Owns two internal topics:
 * `flow-controls` holds whether a flow is paused, `flow-shares` what each process reports. A flow is *held* until its
 * controls are read and while it is paused by hand: delivery and polling check its {@link FlowHold} before each call.
 * Uses Kafka, and never the service.
 */
export { FlowControlModule } from './flow-control.module.js';
export { ControlNotTakenError, type FlowControl, FlowControls, FlowHold } from './flow-controls.js';
export { type FlowShares, GroupShares, type ProcessShares } from './flow-shares.js';
