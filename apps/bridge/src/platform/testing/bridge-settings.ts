import { type BridgeSettings, loadBridgeSettings } from '#libs/config';

/** Settings of a bridge that reaches neither Kafka nor a service, with changes. */
export function bridgeSettings(environment: Record<string, string> = {}): BridgeSettings {
  return loadBridgeSettings({
    KAFKA_BROKERS: 'localhost:1',
    MACHINE_CLOUD_BASE_URL: 'http://localhost:1',
    MACHINE_CLOUD_TOKEN: 'a-token',
    ...environment,
  });
}
