import type { Environment } from '#libs/config';
import { AppProcess } from './app-process.js';
import { SandboxControl } from './sandbox-control.js';

/** A sandbox on a free port of its own. */
export interface RunningSandbox {
  control: SandboxControl;
  close: () => Promise<void>;
}

/**
 * In a process of its own: a test that reads a hundred thousand outcomes at once leaves a service beside it no
 * time to answer, and calls that time out are carried out late, behind those that were made after them.
 */
export async function startSandbox(env: Environment = {}): Promise<RunningSandbox> {
  const sandbox = new AppProcess('sandbox', {
    SANDBOX_HTTP_PORT: '0',
    LOG_LEVEL: 'silent',
    ...env,
  });
  const url = await sandbox.saying(/sandbox ready on (\S+)/, 'the sandbox says where it listens');
  return { control: new SandboxControl(url), close: () => sandbox.close() };
}
