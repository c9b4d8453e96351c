import { readEnvironment } from '#libs/config';
import { runProgram } from '#libs/program';
import { createSandbox, loadSettings } from './create-sandbox.js';

await runProgram({
  title: 'The sandbox',
  logContext: 'Sandbox',
  portSetting: 'SANDBOX_HTTP_PORT',
  create: async () => {
    const settings = loadSettings(readEnvironment());
    const app = await createSandbox(settings);
    return {
      unsupported: settings.unsupported,
      start: async () => {
        await app.listen(settings.http.port, settings.http.host);
        process.stdout.write(`sandbox ready on ${await app.getUrl()}\n`);
      },
      close: () => app.close(),
    };
  },
});
