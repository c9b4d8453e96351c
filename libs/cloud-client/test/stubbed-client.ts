import { fixedToken } from '#libs/access-tokens';
import type { CloudClientOptions } from '../src/service-calls.js';
import { MachineCloudClient } from '../src/machine-cloud-client.js';
import { StubService } from './stub-service.js';

/** Of the test that runs, as is {@link client}. */
export let service: StubService;
export let client: MachineCloudClient;

beforeEach(async () => {
  service = await StubService.start();
  client = connect();
});

afterEach(async () => {
  await client.close();
  await service.stop();
});

/** One more client of the test's service. */
export function connect(options: Partial<CloudClientOptions> = {}): MachineCloudClient {
  return new MachineCloudClient({
    baseUrl: service.baseUrl,
    token: fixedToken('t0k3n'),
    ...options,
  });
}
