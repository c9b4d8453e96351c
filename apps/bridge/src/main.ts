import { Logger } from '@nestjs/common';
import {
  EXIT_CODE_BAD_SETTINGS,
  loadBridgeSettings,
  readEnvironment,
  SettingsError,
} from '#libs/config';
import { createBridge } from './create-bridge.js';
import { exitOnSignals } from './exit-on-signals.js';

const logger = new Logger('Bridge');

async function main(): Promise<void> {
  const settings = loadBridgeSettings(readEnvironment());
  const bridge = await createBridge(settings);
  exitOnSignals(() => bridge.close());
  await bridge.start();
  const { flows, kafka } = settings;
  logger.log({ msg: 'consuming', flows: [...flows], topicPrefix: kafka.topicPrefix });
}

process.on('unhandledRejection', (error) => {
  // A bug of ours or of a client library's; offsets and outcomes do not depend on such a promise.
  logger.error({ msg: 'unhandled rejection', err: error });
});

main().catch((error: unknown) => {
  if (error instanceof SettingsError) {
    process.stderr.write(`${error.message}\n`);
    process.exit(EXIT_CODE_BAD_SETTINGS);
  }
  process.stderr.write(
    `The bridge cannot start: ${error instanceof Error ? error.message : String(error)}\n`,
  );
  process.exit(1);
});
