import type { Environment } from '#libs/config';
import { AppProcess } from './app-process.js';
import { SandboxControl } from './sandbox-control.js';

/** A sandbox on a free port. */
export interface RunningSandbox {
  control: SandboxControl;
  close: () => Promise<void>;
}

/**
 * Starts the sandbox in a separate process. A test that reads a hundred thousand outcomes at once would leave a service
 * in the same process no time to answer, and calls that time out are carried out late, after newer calls.
 */
export async function startSandbox(env: Environment = {}): Promise<RunningSandbox> {
  const sandbox = new AppProcess('sandbox', {
    SANDBOX_HTTP_PORT: '0',
    LOG_LEVEL: 'silent',
    ...env,
  });
  const url = await sandbox.untilOutputMatches(
    /sandbox ready on (\S+)/,
    'the sandbox says where it listens',
  );
  return { control: new SandboxControl(url), close: () => sandbox.close() };
}
