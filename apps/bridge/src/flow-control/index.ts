/**
 * Flows that operators pause by hand, and what the processes of a group know of each other's flows. Owns two internal
 * topics: `flow-controls` holds whether a flow is paused, and `flow-shares` what each process reports. A flow is *held*
 * until its controls are read and while it is paused by hand: delivery and polling ask its {@link FlowHold} before each
 * call. Touches Kafka, and never the service.
 */
export { FlowControlModule } from './flow-control.module.js';
export { ControlNotTakenError, type FlowControl, FlowControls, FlowHold } from './flow-controls.js';
export { type FlowShares, GroupShares, type ProcessShares } from './flow-shares.js';
