import { EXIT_CODE_BAD_SETTINGS, readEnvironment, SettingsError } from '#libs/config';
import { createSandbox, loadSettings } from './create-sandbox.js';

try {
  await run();
} catch (error) {
  process.stderr.write(`${describe(error)}\n`);
  process.exit(error instanceof SettingsError ? EXIT_CODE_BAD_SETTINGS : 1);
}

async function run(): Promise<void> {
  const settings = loadSettings(readEnvironment());
  const app = await createSandbox(settings);
  let closing = false;
  const onSignal = (): void => {
    // the second signal does not wait for anything
    if (closing) process.exit(1);
    closing = true;
    void app.close().then(() => process.exit(0));
  };
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  await app.listen(settings.http.port, settings.http.host);
  process.stdout.write(`sandbox ready on ${await app.getUrl()}\n`);
}

function describe(error: unknown): string {
  if (error instanceof SettingsError) return error.message;
  const message = error instanceof Error ? error.message : String(error);
  const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
  const remedy = isTaken ? ': set SANDBOX_HTTP_PORT to another port' : '';
  return `The sandbox cannot start: ${message}${remedy}`;
}
