import type { Environment } from '#libs/config';
import { AppProcess } from './app-process.js';
import { eventually } from './eventually.js';

/** The bridge as a process. */
export class BridgeProcess extends AppProcess {
  constructor(env: Environment) {
    super('bridge', env);
  }

  /** Where its HTTP listens, once it says so. */
  async url(): Promise<string> {
    const url = await this.saying(/"url":"(http:[^"]+)"/, 'the bridge says where it listens');
    return url.replace('[::1]', '127.0.0.1');
  }

  async ready(): Promise<string> {
    const url = await this.url();
    await eventually(async () => (await fetch(`${url}/health/ready`)).ok, {
      what: 'the bridge is ready',
    });
    return url;
  }
}
