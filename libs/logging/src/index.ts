import type { LoggerService } from '@nestjs/common';
import { type DestinationStream, pino } from 'pino';

type Level = 'debug' | 'error' | 'fatal' | 'info' | 'trace' | 'warn';

/**
 * Nest's logger over pino: one JSON object a line, `{level, time, pid, hostname, context, msg, …}`, errors as `err`.
 *
 * @param level pino's name of the lowest level that is written; `silent` for none
 */
export function jsonLogger(level: string, destination?: DestinationStream): LoggerService {
  const logger = destination ? pino({ level }, destination) : pino({ level });
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
        // Nest's own exception handlers give an error as its message, its stack and their context.
        logger.error({ context, err: Object.assign(new Error(message), { stack }) });
      } else {
        logger[name]({ context }, message);
      }
    };
  return {
    verbose: at('trace'),
    debug: at('debug'),
    log: at('info'),
    warn: at('warn'),
    error: at('error'),
    fatal: at('fatal'),
  };
}
