import { type EnvironmentReader } from './environment-reader.js';
import { checkReceivable } from './header-characters.js';
import { listenAddress } from './listen-address.js';

export interface HttpSettings {
  host: string;
  port: number;
  /** Required as Bearer on `/api` and `/metrics` when set. */
  apiToken?: string;
}

export function readHttpSettings(env: EnvironmentReader): HttpSettings {
  const { isLoopback, ...address } = listenAddress(env, 'BRIDGE', 3000);
  const apiToken = env.secret('BRIDGE_API_TOKEN');
  if (apiToken !== undefined) checkReceivable(env, 'BRIDGE_API_TOKEN', apiToken);
  else if (!isLoopback) {
    env.problem('BRIDGE_API_TOKEN', 'is required when BRIDGE_HTTP_HOST is not loopback');
  }
  return { ...address, ...(apiToken !== undefined && { apiToken }) };
}
