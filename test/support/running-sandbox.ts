import { createSandbox } from '../../apps/sandbox/src/index.js';
import { type Environment, loadSandboxSettings } from '#libs/config';
import { SandboxControl } from './sandbox-control.js';

/** A sandbox on a free port of its own. */
export interface RunningSandbox {
  control: SandboxControl;
  close: () => Promise<void>;
}

export async function startSandbox(env: Environment = {}): Promise<RunningSandbox> {
  const settings = loadSandboxSettings({
    SANDBOX_HTTP_PORT: '0',
    LOG_LEVEL: 'silent',
    ...env,
  });
  const app = await createSandbox(settings);
  await app.listen(settings.http.port, settings.http.host);
  return { control: new SandboxControl(await app.getUrl()), close: () => app.close() };
}
