import { type FlowControls, FlowHold } from '../index.js';

/** Controls with no flow paused, without Kafka. */
export function unpausedFlows(): FlowControls {
  const hold = new FlowHold();
  hold.setHeld(false);
  return { holdOf: () => hold, pauseOf: () => undefined } as unknown as FlowControls;
}
