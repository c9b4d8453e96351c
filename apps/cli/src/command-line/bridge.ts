import { loadBridgeAddress, readEnvironment } from '#libs/config';
import { isJsonObject } from '#libs/contracts';
import { HttpTransport, type HttpReply } from '#libs/http-calls';
import { UnreachableError } from './exit-codes.js';

/** HTTP requests to a bridge, at the address of the settings or another one. */
interface BridgeHttp {
  url: string;
  /** A GET, or a POST of JSON. @throws UnreachableError without a complete answer */
  request: (path: string, json?: object) => Promise<BridgeAnswer>;
}

export type BridgeAnswer = Pick<HttpReply, 'status' | 'body'>;

/** For a complete answer. */
const TIMEOUT_MS = 10_000;
/** Far more than the answer for a hundred thousand machines. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;
/** Hosts that mean all local addresses. */
const ANY_HOST = ['0.0.0.0', '::'];

const NO_BRIDGE = 'it is no bridge of this version; --bridge names another address';

/** @throws SettingsError with all problems */
export function bridgeHttp(given?: string): BridgeHttp {
  const { host, port, apiToken } = loadBridgeAddress(readEnvironment());
  const own = ANY_HOST.includes(host) ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  const url = (given ?? `http://${own}:${port}`).replace(/\/+$/, '');
  const { origin, pathname } = new URL(url);
  const transport = new HttpTransport({
    ...{ origin, maxConnections: 1, timeoutMs: TIMEOUT_MS },
    ...{ maxAnswerBytes: MAX_ANSWER_BYTES, proxy: undefined },
  });
  const request = async (path: string, json?: object): Promise<BridgeAnswer> => {
    const headers = [
      ...(apiToken === undefined ? [] : ['authorization', `Bearer ${apiToken}`]),
      ...(json === undefined ? [] : ['content-type', 'application/json']),
    ];
    const exchange = await transport.exchange({
      operation: 'bridge',
      method: json === undefined ? 'GET' : 'POST',
      path: pathname.replace(/\/$/, '') + path,
      headers,
      body: json === undefined ? null : JSON.stringify(json),
    });
    const fault = exchange.kind === 'failed' ? exchange : exchange.bodyFault;
    if (exchange.kind === 'reply' && fault === undefined) return exchange;
    throw new UnreachableError(`no bridge answers at ${url}: ${fault?.why}`);
  };
  return { url, request };
}

export function isListOf(...fields: string[]): (json: unknown) => boolean {
  return (json) => Array.isArray(json) && json.every((entry) => hasFields(entry, ...fields));
}

export function hasFields(json: unknown, ...fields: string[]): boolean {
  return isJsonObject(json) && fields.every((field) => field in json);
}

/**
 * Requests JSON from a running bridge, with a POST if there is a body.
 *
 * @param isAnswer checks that the JSON comes from a bridge: another server may answer at that address
 * @throws UnreachableError where nothing answers, or the bridge answers 503 because Kafka does not
 */
export async function askBridge<T>(
  url: string | undefined,
  path: string,
  isAnswer: (json: unknown) => boolean,
  body?: object,
): Promise<T> {
  const bridge = bridgeHttp(url);
  const answer = await bridge.request(path, body).catch((error: unknown) => {
    if (!(error instanceof UnreachableError)) throw error;
    const remedy = 'start it, or name another one with --bridge';
    throw new UnreachableError(`${error.message}: ${remedy}`, { cause: error });
  });
  const { status } = answer;
  const json = jsonOf(answer);
  const isTaken = status >= 200 && status < 300;
  if (isTaken && isAnswer(json)) return json as T;
  const what = json === undefined ? ' and no JSON' : ' and other JSON than a bridge';
  const { message = NO_BRIDGE } = (isTaken ? {} : (json ?? {})) as { message?: string };
  const why = `${bridge.url}${path} answers with ${status}${isTaken ? what : ''}: ${message}`;
  if (status === 503) throw new UnreachableError(why);
  const remedy = status === 401 ? '; BRIDGE_API_TOKEN must be that of the bridge' : '';
  throw new Error(`${why}${remedy}`);
}

export function jsonOf({ body }: BridgeAnswer): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
