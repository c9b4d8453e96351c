import type { LogLevel as NestLogLevel } from '@nestjs/common';
import type { LogLevel } from '#libs/config';

/** Nest's own start-up lines are of level `log`: they are shown from debug on. */
export function nestLogLevels(level: LogLevel): NestLogLevel[] {
  switch (level) {
    case 'silent':
      return [];
    case 'fatal':
      return ['fatal'];
    case 'error':
      return ['fatal', 'error'];
    case 'warn':
    case 'info':
      return ['fatal', 'error', 'warn'];
    case 'debug':
    case 'trace':
      return ['fatal', 'error', 'warn', 'log', 'debug', 'verbose'];
    default:
      return level satisfies never;
  }
}
