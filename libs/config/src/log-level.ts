import type { EnvironmentReader } from './environment-reader.js';

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export function readLogLevel(env: EnvironmentReader): LogLevel {
  return env.oneOf<LogLevel>('LOG_LEVEL', LOG_LEVELS, 'info');
}
