import { Logger } from '@nestjs/common';
import {
  EXIT_CODE_BAD_SETTINGS,
  loadIngestSettings,
  readEnvironment,
  SettingsError,
} from '#libs/config';
import { afterRealMs } from '#libs/clock';
import { createIngest } from './create-ingest.js';

const STOP_DEADLINE_MS = 10_000;
const logger = new Logger('Ingest');
let stop: () => Promise<void> = () => Promise.resolve();
const stopping = new AbortController();

function onSignal(): void {
  // the second signal does not wait for anything
  if (stopping.signal.aborted) process.exit(1);
  stopping.abort();
  afterRealMs(STOP_DEADLINE_MS, () => {
    logger.warn({ msg: 'the stop took too long and is cut short', afterMs: STOP_DEADLINE_MS });
    process.exit(0);
  });
  void stop().finally(() => process.exit(0));
}

process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
process.on('unhandledRejection', (error) => {
  // A bug of ours or of a client library's; what Kafka has acknowledged does not depend on such a promise.
  logger.error({ msg: 'unhandled rejection', err: error });
});

try {
  const ingest = await createIngest(loadIngestSettings(readEnvironment()));
  stop = () => ingest.close();
  await ingest.start();
} catch (error) {
  // What cannot start because it is being stopped is no failure: the stop ends the process.
  if (!stopping.signal.aborted) exitBecause(error);
}

function exitBecause(error: unknown): never {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof SettingsError) {
    process.stderr.write(`${message}\n`);
    process.exit(EXIT_CODE_BAD_SETTINGS);
  }
  const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
  const remedy = isTaken ? ': set INGEST_HTTP_PORT to another port' : '';
  process.stderr.write(`Ingest cannot start: ${message}${remedy}\n`);
  process.exit(1);
}
