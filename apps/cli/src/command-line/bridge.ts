import { loadBridgeAddress, readEnvironment } from '#libs/config';
import { UnreachableError } from './exit-codes.js';

/** A bridge's HTTP surfaces, at the address of its settings or another one. */
export interface BridgeHttp {
  url: string;
  /** @throws UnreachableError */
  get: (path: string) => Promise<Response>;
  /** Sends JSON. @throws UnreachableError */
  post: (path: string, body: object) => Promise<Response>;
}

const TIMEOUT_MS = 10_000;
/** A host that stands for all addresses of this one. */
const ANY_HOST = ['0.0.0.0', '::'];

/** @throws SettingsError naming everything that is wrong */
export function bridgeHttp(given?: string): BridgeHttp {
  const { host, port, apiToken } = loadBridgeAddress(readEnvironment());
  const own = ANY_HOST.includes(host) ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  const url = (given ?? `http://${own}:${port}`).replace(/\/+$/, '');
  const request = async (path: string, init: RequestInit): Promise<Response> => {
    try {
      return await fetch(`${url}${path}`, {
        ...init,
        headers: {
          ...(apiToken !== undefined && { authorization: `Bearer ${apiToken}` }),
          ...(init.body !== undefined && { 'content-type': 'application/json' }),
        },
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
    } catch (error) {
      const { cause = error } = error as Error;
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new UnreachableError(`no bridge answers at ${url}: ${why}`, { cause: error });
    }
  };
  return {
    url,
    get: (path) => request(path, {}),
    post: (path, body) => request(path, { method: 'POST', body: JSON.stringify(body) }),
  };
}

/**
 * The JSON that a running bridge answers; with a body, to a POST.
 *
 * @throws UnreachableError where nothing answers, or the bridge says that Kafka does not
 */
export async function askBridge(
  url: string | undefined,
  path: string,
  body?: object,
): Promise<unknown> {
  const bridge = bridgeHttp(url);
  const answer = await (body === undefined ? bridge.get(path) : bridge.post(path, body));
  if (answer.ok) return answer.json();
  const { message = 'it is no bridge of this version' } = (await answer
    .json()
    .catch(() => ({}))) as { message?: string };
  const why = `${bridge.url}${path} answers with ${answer.status}: ${message}`;
  if (answer.status === 503) throw new UnreachableError(why);
  const remedy = answer.status === 401 ? '; BRIDGE_API_TOKEN must be that of the bridge' : '';
  throw new Error(`${why}${remedy}`);
}
