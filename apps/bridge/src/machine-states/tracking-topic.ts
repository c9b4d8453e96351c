import { type BridgeSettings } from '#libs/config';

/** Full name of the compacted topic behind what is remembered of machines; nobody else reads it. */
export function trackingTopic({ kafka }: Pick<BridgeSettings, 'kafka'>): string {
  return `${kafka.topicPrefix}machine-bridge.machine-states.v1`;
}
