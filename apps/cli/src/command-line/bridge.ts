import { loadBridgeAddress, readEnvironment } from '#libs/config';
import { UnreachableError } from './exit-codes.js';

/** A bridge's HTTP surfaces, at the address of its settings or another one. */
export interface BridgeHttp {
  url: string;
  /** @throws UnreachableError */
  get: (path: string) => Promise<Response>;
}

const TIMEOUT_MS = 10_000;
/** A host that stands for all addresses of this one. */
const ANY_HOST = ['0.0.0.0', '::'];

/** @throws SettingsError naming everything that is wrong */
export function bridgeHttp(given?: string): BridgeHttp {
  const { host, port, apiToken } = loadBridgeAddress(readEnvironment());
  const own = ANY_HOST.includes(host) ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  const url = (given ?? `http://${own}:${port}`).replace(/\/+$/, '');
  return {
    url,
    get: async (path) => {
      try {
        return await fetch(`${url}${path}`, {
          headers: apiToken === undefined ? {} : { authorization: `Bearer ${apiToken}` },
          signal: AbortSignal.timeout(TIMEOUT_MS),
        });
      } catch (error) {
        const { cause = error } = error as Error;
        const why = cause instanceof Error ? cause.message : String(cause);
        throw new UnreachableError(`no bridge answers at ${url}: ${why}`, { cause: error });
      }
    },
  };
}
