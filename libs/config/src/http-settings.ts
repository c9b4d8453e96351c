import { isIP } from 'node:net';
import { type EnvironmentReader } from './environment-reader.js';
import { checkReceivable } from './header-characters.js';

export interface HttpSettings {
  host: string;
  port: number;
  /** Required as Bearer on `/api` and `/metrics` when set. */
  apiToken?: string;
}

const HOST_NAME = /^[A-Za-z0-9._-]+$/;
/** All of 127.0.0.0/8 is loopback. */
const LOOPBACK_HOST = /^(127\.\d+\.\d+\.\d+|::1|localhost)$/;

export function readHttpSettings(env: EnvironmentReader): HttpSettings {
  const host = env.text('BRIDGE_HTTP_HOST', '127.0.0.1');
  const apiToken = env.secret('BRIDGE_API_TOKEN');
  if (apiToken !== undefined) checkReceivable(env, 'BRIDGE_API_TOKEN', apiToken);
  if (isIP(host) === 0 && !HOST_NAME.test(host)) {
    env.problem('BRIDGE_HTTP_HOST', 'must be a host name or an IP address, and nothing else');
  } else if (!LOOPBACK_HOST.test(host) && apiToken === undefined) {
    env.problem('BRIDGE_API_TOKEN', 'is required when BRIDGE_HTTP_HOST is not loopback');
  }
  return {
    host,
    port: env.integer('BRIDGE_HTTP_PORT', { default: 3000, max: 65_535 }),
    ...(apiToken !== undefined && { apiToken }),
  };
}
