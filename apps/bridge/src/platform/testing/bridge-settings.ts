import { Clock } from '#libs/clock';
import { MachineCloudClient } from '#libs/cloud-client';
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

/** A client of the service that the settings name. */
export function clientOf(
  { machineCloud }: Pick<BridgeSettings, 'machineCloud'>,
  clock = new Clock(),
): MachineCloudClient {
  return new MachineCloudClient({ ...machineCloud, maxConnections: 64, clock });
}
