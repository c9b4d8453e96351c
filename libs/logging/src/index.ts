// Log lines as JSON, written by pino.
import type { LoggerService } from '@nestjs/common';
import { type DestinationStream, pino } from 'pino';

type Level = 'debug' | 'error' | 'fatal' | 'info' | 'trace' | 'warn';

/** Contexts in which Nest logs its own start, module by module and route by route: of no use to operators. */
const NEST_CONTEXTS = new Set<unknown>([
  ...['NestFactory', 'InstanceLoader', 'RoutesResolver', 'RouterExplorer'],
  ...['NestApplication', 'NestMicroservice'],
]);

/** Limit of lines that wait to be written; further ones are dropped. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

/**
 * Writes lines to a file. Lines that cannot be written, as on a full disk or a closed terminal, wait for the next one
 * that can: pino's own stream would end the process, and retry for ever while it ends.
 */
export function lineStream(fd: number): ReturnType<typeof pino.destination> {
  const stream = pino.destination({ dest: fd, sync: false, maxLength: MAX_WAITING_BYTES });
  const flushSync = stream.flushSync.bind(stream);
  const leaveWaiting = (): void => undefined;
  stream.on('error', () => {
    if (stream.flushSync === leaveWaiting) return;
    stream.flushSync = leaveWaiting;
    stream.once('drain', () => {
      stream.flushSync = flushSync;
    });
  });
  return stream;
}

/**
 * Nest's logger over pino: one JSON object a line, `{level, time, pid, hostname, context, msg, …}`, errors as `err`.
 * Lines of Nest's own start are written at `debug`.
 *
 * @param level pino's name of the lowest level that is written; `silent` for none
 */
export function jsonLogger(
  level: string,
  destination: DestinationStream = lineStream(process.stdout.fd),
): LoggerService {
  const logger = pino({ level }, destination);
  const at =
    (name: Level) =>
    (message: object | string, ...parameters: unknown[]) => {
      const context = parameters.pop();
      const stack = parameters.at(0);
      if (typeof message === 'object') {
        logger[name](
          message instanceof Error ? { context, err: message } : { context, ...message },
        );
      } else if (name === 'error' && typeof stack === 'string') {
        // Nest's exception handlers pass an error as its message, its stack and their context.
        logger.error({ context, err: Object.assign(new Error(message), { stack }) });
      } else {
        logger[name]({ context }, message);
      }
    };
  return {
    verbose: at('trace'),
    debug: at('debug'),
    log: (message: object | string, ...parameters: unknown[]) => {
      at(NEST_CONTEXTS.has(parameters.at(-1)) ? 'debug' : 'info')(message, ...parameters);
    },
    warn: at('warn'),
    error: at('error'),
    fatal: at('fatal'),
  };
}
