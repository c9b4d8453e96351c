import { type Environment } from './environment-reader.js';

/** The only place that reads the process's environment. */
export function readEnvironment(): Environment {
  return process.env;
}
