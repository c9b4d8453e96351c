import { type FlowControls, FlowHold } from '../index.js';

/** Controls by which no flow is paused, without Kafka. */
export function unpausedFlows(): FlowControls {
  const hold = new FlowHold();
  hold.set(false);
  return { holdOf: () => hold, pauseOf: () => undefined } as unknown as FlowControls;
}
