import { Clock } from '#libs/clock';
import { loadBridgeSettings } from '#libs/config';
import type { CallDurations } from '#libs/http-calls';
import { captureLogs, type CapturedLogs } from '../../logging/test/captured-logs.js';
import { type CloudClientOptions, MachineCloudClient } from '../src/machine-cloud-client.js';
import { StubService } from '../../http-calls/test/stub-service.js';

/** The service of the running test, like the values below. */
export let service: StubService;
/** With a fixed token. */
export let client: MachineCloudClient;
/** The requests of all clients, in order. */
export let calls: (Parameters<CallDurations['observe']>[0] & { seconds: number })[];
export let logs: CapturedLogs;
let clients: MachineCloudClient[];

beforeEach(async () => {
  [calls, clients] = [[], []];
  logs = captureLogs();
  service = await StubService.start();
  client = connect();
});

afterEach(async () => {
  // one may have been closed by its test
  await Promise.allSettled(clients.map((each) => each.closeConnections()));
  await service.stop();
  logs.release();
});

/** Another client of the test's service, closed with it. */
export function connect(options: Partial<CloudClientOptions> = {}): MachineCloudClient {
  const { machineCloud } = loadBridgeSettings({
    KAFKA_BROKERS: 'localhost:1',
    MACHINE_CLOUD_BASE_URL: service.baseUrl,
    MACHINE_CLOUD_TOKEN: 't0k3n',
  });
  const connected = new MachineCloudClient({
    ...machineCloud,
    ...{ maxConnections: 64, clock: new Clock() },
    durations: { observe: (of, seconds) => void calls.push({ ...of, seconds }) },
    ...options,
  });
  clients.push(connected);
  return connected;
}
