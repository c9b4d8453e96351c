import { HttpTransport, type HttpsProxy, TIMED_OUT, withTimeout } from '#libs/http-calls';
import { field, isJsonObject, type JsonObject } from '#libs/contracts';

export interface SchemaRegistryOptions {
  /** With the path that its API is below. */
  url: string;
  /** Value of `Authorization`. */
  authorization?: string;
  proxy?: HttpsProxy;
}

/**
 * What the registry makes of a request. `none` is a registry that does not have it, `unavailable` one that does not answer
 * or refuses everybody: nothing is to be concluded from that.
 */
export type RegistryAnswer =
  | { kind: 'document'; document: JsonObject }
  | { kind: 'none'; why: string }
  | { kind: 'too-large' }
  | { kind: 'unavailable'; why: string };

/** Of a schema in its JSON, which is parsed in one turn of the event loop. */
export const MAX_ANSWER_BYTES = 512 * 1024;
const CONNECTIONS = 4;
const ACCEPT = 'application/vnd.schemaregistry.v1+json, application/json';
/** Of these statuses none says anything about what was asked for. */
const NOT_ABOUT_THE_SCHEMA = new Set([401, 403, 407, 408, 425, 429]);

/** Requests to a registry with the API of Confluent's; none rejects but by the caller's signal. */
export class RegistryRequests {
  private readonly transport: HttpTransport;
  private readonly path: string;
  private readonly headers: readonly string[];
  private readonly token: string | undefined;

  constructor(
    { url, authorization, proxy }: SchemaRegistryOptions,
    private readonly timeoutMs: number,
  ) {
    const { origin, pathname } = new URL(url);
    this.path = pathname.replace(/\/+$/, '');
    this.token = authorization;
    this.headers = [
      ...['accept', ACCEPT, 'accept-encoding', 'identity'],
      ...(authorization === undefined ? [] : ['authorization', authorization]),
    ];
    this.transport = new HttpTransport({
      origin,
      maxConnections: CONNECTIONS,
      timeoutMs,
      maxAnswerBytes: MAX_ANSWER_BYTES,
      proxy,
    });
  }

  /** @param path below the URL, percent-encoded */
  async get(path: string, signal: AbortSignal): Promise<RegistryAnswer> {
    const answer = await this.request(path, signal);
    if (answer.kind !== 'none') return answer;
    // a gateway, or a wrong path, answers 404 to everything
    const types = await this.request('/schemas/types', signal);
    if (types.kind === 'document') return answer;
    const why = `${answer.why}, and as little of /schemas/types: this is no schema registry`;
    return { kind: 'unavailable', why };
  }

  close(): Promise<void> {
    return this.transport.destroy();
  }

  private async request(path: string, signal: AbortSignal): Promise<RegistryAnswer> {
    const { headers, timeoutMs, token } = this;
    const exchange = await withTimeout(timeoutMs, { signal }, (end) =>
      this.transport.send(
        {
          method: 'GET',
          path: `${this.path}${path}`,
          headers: [...headers],
          body: null,
          ...(token !== undefined && { token }),
        },
        end,
      ),
    );
    if (exchange === TIMED_OUT) return { kind: 'unavailable', why: `no answer in ${timeoutMs} ms` };
    if (exchange.kind === 'failed') return { kind: 'unavailable', why: exchange.cause.message };
    const { status, bodyFault } = exchange;
    const isOfServer = status < 200 || (status >= 300 && status < 400) || status >= 500;
    if (isOfServer || NOT_ABOUT_THE_SCHEMA.has(status)) {
      return { kind: 'unavailable', why: `HTTP ${status}` };
    }
    if (status >= 400) return { kind: 'none', why: `HTTP ${status}${errorCode(exchange.body)}` };
    if (bodyFault?.code === 'malformed-answer') return { kind: 'too-large' };
    if (bodyFault !== undefined) return { kind: 'unavailable', why: bodyFault.cause.message };
    const document = parseObject(exchange.body);
    if (document !== undefined) return { kind: 'document', document };
    return { kind: 'unavailable', why: `HTTP ${status} without JSON: this is no schema registry` };
  }
}

/** Of an array it matters alone that it is one. */
function parseObject(body: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return isJsonObject(value)
      ? value
      : Array.isArray(value)
        ? { length: value.length }
        : undefined;
  } catch {
    return undefined;
  }
}

function errorCode(body: string): string {
  const code = field(parseObject(body) ?? {}, 'error_code');
  return typeof code === 'number' ? ` (${code})` : '';
}
