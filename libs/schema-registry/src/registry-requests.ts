import type { SchemaRegistrySettings } from '#libs/config';
import { HttpTransport } from '#libs/http-calls';
import { field, isJsonObject, type JsonObject } from '#libs/contracts';

export type SchemaRegistryOptions = Omit<SchemaRegistrySettings, 'outputs'>;

/**
 * The result of a request. `none`: the registry has no such schema, or refuses it. `unavailable`: the registry does not
 * answer, or refuses every request, which says nothing about the schema.
 */
export type RegistryAnswer =
  | { kind: 'document'; document: JsonObject }
  | { kind: 'none'; why: string }
  | { kind: 'too-large' }
  | { kind: 'unavailable'; why: string; cause: UnavailableCause };

/** `refused`: the login or the proxy. `failed`: an error of the server. `other-server`: not a registry. */
export type UnavailableCause = 'no-answer' | 'refused' | 'failed' | 'other-server';

/** An answer, a schema within JSON, is parsed in one turn of the event loop. */
export const MAX_ANSWER_BYTES = 512 * 1024;
const CONNECTIONS = 4;
const CONTENT_TYPE = 'application/vnd.schemaregistry.v1+json';
const ACCEPT = `${CONTENT_TYPE}, application/json`;
/** These statuses say nothing about the schema; neither do {@link REFUSALS}. */
const NOT_ABOUT_THE_SCHEMA = new Set([408, 425, 429]);

const REFUSALS = new Set([401, 403, 407]);

const MAX_REASON = 300;

/** Requests to a registry with Confluent's API. A request rejects only by the caller's signal. */
export class RegistryRequests {
  private readonly transport: HttpTransport;
  private readonly path: string;
  private readonly headers: readonly string[];
  private readonly token: string | undefined;

  constructor({ url, authorization, proxy }: SchemaRegistryOptions, timeoutMs: number) {
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

  /**
   * @param path below the URL, percent-encoded
   * @param body what is posted; without it the request is a GET of a schema
   */
  async request(
    path: string,
    body: JsonObject | null,
    signal: AbortSignal,
  ): Promise<RegistryAnswer> {
    const answer = await this.exchange(path, body, signal);
    if (answer.kind === 'document') {
      const isSchema = body !== null || typeof answer.document['schema'] === 'string';
      if (isSchema) return answer;
      const why = 'it answers without a schema: this is no schema registry';
      return unavailable('other-server', why);
    }
    if (answer.kind === 'unavailable') return answer;
    // a gateway or a wrong path may answer every request with 404 or with a page
    const types = await this.exchange('/schemas/types', null, signal);
    if (types.kind === 'document') return answer;
    const what = answer.kind === 'none' ? answer.why : `more than ${MAX_ANSWER_BYTES} bytes`;
    const why = `${what}, and no list from /schemas/types: this is no schema registry`;
    return unavailable('other-server', why);
  }

  closeConnections(): Promise<void> {
    return this.transport.destroyConnections();
  }

  private async exchange(
    path: string,
    body: JsonObject | null,
    signal: AbortSignal,
  ): Promise<RegistryAnswer> {
    const { headers, token } = this;
    const exchange = await this.transport.exchange(
      {
        operation: 'schema registry',
        method: body === null ? 'GET' : 'POST',
        path: `${this.path}${path}`,
        headers: body === null ? [...headers] : [...headers, 'content-type', CONTENT_TYPE],
        body: body === null ? null : JSON.stringify(body),
        ...(token !== undefined && { token }),
      },
      { signal },
    );
    if (exchange.kind === 'failed') return unavailable('no-answer', exchange.why);
    const { status, bodyFault } = exchange;
    if (REFUSALS.has(status)) {
      // a login may be allowed to read schemas but not to write them
      const what = body === null ? '' : ` to POST ${path}`;
      return unavailable('refused', `HTTP ${status}${what}`);
    }
    if (status >= 300 && status < 400) return unavailable('other-server', `HTTP ${status}`);
    if (status < 200 || status >= 500 || NOT_ABOUT_THE_SCHEMA.has(status)) {
      return unavailable('failed', `HTTP ${status}`);
    }
    if (status >= 400) {
      const reason = body === null ? '' : reasonOf(exchange.body);
      return { kind: 'none', why: `HTTP ${status}${errorCode(exchange.body)}${reason}` };
    }
    if (bodyFault?.code === 'malformed-answer') return { kind: 'too-large' };
    if (bodyFault !== undefined) return unavailable('no-answer', bodyFault.why);
    const document = parseObject(exchange.body);
    if (document !== undefined) return { kind: 'document', document };
    const why = `HTTP ${status} without JSON: this is no schema registry`;
    return unavailable('other-server', why);
  }
}

function unavailable(cause: UnavailableCause, why: string): RegistryAnswer {
  return { kind: 'unavailable', why, cause };
}

/** Checks that the registry can be reached, with the kind of request that the bridge makes. Undefined if so. */
export async function reachRegistry(
  options: SchemaRegistryOptions,
  timeoutMs: number,
): Promise<{ cause: UnavailableCause; why: string } | undefined> {
  const requests = new RegistryRequests(options, timeoutMs);
  try {
    const answer = await requests.request('/schemas/ids/1', null, new AbortController().signal);
    return answer.kind === 'unavailable' ? answer : undefined;
  } finally {
    await requests.closeConnections();
  }
}

/**
 * Checks whether the registry has, or would accept, a JSON Schema of a subject. Writes nothing. `new`: it would be
 * accepted, as far as the registry's answers show.
 */
export async function trySchema(
  options: SchemaRegistryOptions,
  timeoutMs: number,
  { subject, schema }: { subject: string; schema: object },
): Promise<
  | { kind: 'registered' | 'new' | 'incompatible' }
  | { kind: 'unavailable'; cause: UnavailableCause; why: string }
> {
  const requests = new RegistryRequests(options, timeoutMs);
  const path = `/subjects/${encodeURIComponent(subject)}`;
  const body = { schemaType: 'JSON', schema: JSON.stringify(schema) };
  const { signal } = new AbortController();
  try {
    const known = await requests.request(path, body, signal);
    if (known.kind === 'unavailable') return known;
    if (known.kind === 'document') return { kind: 'registered' };
    const compatible = await requests.request(
      `/compatibility${path}/versions/latest`,
      body,
      signal,
    );
    if (compatible.kind === 'unavailable') return compatible;
    const isRefused =
      compatible.kind === 'document' && compatible.document['is_compatible'] === false;
    return { kind: isRefused ? 'incompatible' : 'new' };
  } finally {
    await requests.closeConnections();
  }
}

/** Parses an object. An array becomes an object with its length: it only has to count as JSON. */
function parseObject(body: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(body);
    if (Array.isArray(value)) return { length: value.length };
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function errorCode(body: string): string {
  const code = field(parseObject(body) ?? {}, 'error_code');
  return typeof code === 'number' ? ` (${code})` : '';
}

/** The registry's message about a refused output schema: the rule that it violates. */
function reasonOf(body: string): string {
  const message = field(parseObject(body) ?? {}, 'message');
  if (typeof message !== 'string') return '';
  return `: ${message.replace(/\s+/g, ' ').slice(0, MAX_REASON)}`;
}
