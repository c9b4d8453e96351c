import { createRequire } from 'node:module';
import { Logger } from '@nestjs/common';
import { afterRealMs } from '#libs/clock';
import { EXIT_CODE_BAD_SETTINGS, SettingsError, type UnsupportedSetting } from '#libs/config';

/** The project's version, from its package.json, wherever the app is built to. */
export const VERSION = (createRequire(import.meta.url)('#package.json') as { version: string })
  .version;

/** An HTTP server that runs until it is stopped. */
interface Server {
  unsupported?: readonly UnsupportedSetting[];
  start: () => Promise<void>;
  close: (signal: NodeJS.Signals) => Promise<void>;
}

interface ProgramOptions {
  /** Name in error texts, such as `The terminal`. */
  title: string;
  /** Context of its log lines. */
  logContext: string;
  /** Setting of the port, for the advice when the port is taken. */
  portSetting: string;
  /** Default 10000. */
  stopDeadlineMs?: number;
  /** @throws SettingsError */
  create: () => Promise<Server>;
}

/**
 * Runs a server as a program: SIGTERM or SIGINT stops it with exit code 0, before the deadline; a second one ends it
 * at once with 1. A failed start is written to stderr, with exit code 78 for wrong settings and otherwise 1.
 */
export async function runProgram(options: ProgramOptions): Promise<void> {
  const { logContext, stopDeadlineMs: afterMs = 10_000 } = options;
  const logger = new Logger(logContext);
  let stop: (signal: NodeJS.Signals) => Promise<void> = () => Promise.resolve();
  const stopping = new AbortController();
  const onSignal = (signal: NodeJS.Signals): void => {
    // The second signal does not wait.
    if (stopping.signal.aborted) process.exit(1);
    stopping.abort();
    afterRealMs(afterMs, () => {
      logger.warn({ msg: 'the stop took too long and is cut short', afterMs });
      process.exit(0);
    });
    void stop(signal).finally(() => process.exit(0));
  };
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  process.on('unhandledRejection', (error) => {
    // A bug of ours or of a client library; records acknowledged by Kafka do not depend on such a promise.
    logger.error({ msg: 'unhandled rejection', err: error });
  });
  try {
    const server = await options.create();
    stop = (signal) => server.close(signal);
    for (const setting of server.unsupported ?? []) {
      logger.warn({ msg: 'a setting has no effect', ...setting });
    }
    await server.start();
  } catch (error) {
    // A start that fails because of the stop is no failure: the stop ends the process.
    if (!stopping.signal.aborted) exitBecause(error, options);
  }
}

/** Writes the reason of a failed start to stderr and ends the process: with 78 for wrong settings, otherwise with 1. */
function exitBecause(
  error: unknown,
  { title, portSetting }: Pick<ProgramOptions, 'title' | 'portSetting'>,
): never {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof SettingsError) {
    process.stderr.write(`${message}\n`);
    process.exit(EXIT_CODE_BAD_SETTINGS);
  }
  process.stderr.write(`${title} cannot start: ${message}${remedyOf(error, portSetting)}\n`);
  process.exit(1);
}

function remedyOf(error: unknown, portSetting: string): string {
  const hostSetting = portSetting.replace(/PORT$/, 'HOST');
  const { code, syscall = '' }: NodeJS.ErrnoException =
    error instanceof Error ? error : new Error();
  if (!['listen', 'getaddrinfo'].includes(syscall)) return '';
  switch (code) {
    case 'EADDRINUSE':
      return `: set ${portSetting} to another port`;
    case 'EACCES':
      return `: set ${portSetting} to a port from 1024 on`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `: set ${hostSetting} to an address of this host`;
    default:
      return '';
  }
}
