import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import {
  callWithToken,
  type NoToken,
  openTokenSource,
  type TokenSource,
} from '#libs/access-tokens';
import { realEpochMs } from '#libs/clock';
import type { BridgeSettings, ErpAccess, ProxySettings } from '#libs/config';
import { isJsonObject, readJson } from '#libs/contracts';
import { type EnrichmentRule, enrichmentUrl, type ThinEvent } from '#libs/erp-formats';
import { HttpTransport, isWebPage, readRetryAfter, type HttpReply } from '#libs/http-calls';

/** Result of a GET. `why` contains no text of the answer and no secret. */
export type ErpAnswer =
  | { kind: 'document'; contentType: string | null; body: Buffer }
  /** Nothing is at the address: 404, 410, 204, or an empty list. */
  | { kind: 'gone'; status: 404 | 410 | 204 | 200 }
  /** The request is at fault, or the answer unusable: repeating the request will not help. */
  | {
      kind: 'refused';
      code: 'too-large' | 'status';
      status: number;
      why: string;
    }
  | { kind: 'unauthorised'; status: 401 | 403; why: string }
  /** To be repeated, not before `afterMs` (real milliseconds, from `Retry-After`) have passed. */
  | { kind: 'retry'; status: number | null; why: string; afterMs: number | null };

/** Temporary client errors; errors that a gateway answers in place of the ERP are temporary too. */
const PASSING = new Set([408, 425, 429]);
const unzip = promisify(gunzip);

/**
 * Sends GETs to the ERP of a rule. The deadline is for a whole answer, and for a token; the limit of an answer also holds
 * for it decompressed. Follows no redirect, since credentials would travel to another host.
 */
export class ErpClient {
  /** `https://host:port` */
  readonly origin: string;
  private readonly transport: HttpTransport;
  private readonly access: ErpAccess;
  private readonly tokens: TokenSource | undefined;

  constructor(
    private readonly rule: EnrichmentRule,
    { erpAccess, machineCloud }: Pick<BridgeSettings, 'erpAccess' | 'machineCloud'>,
  ) {
    const { timeoutMs, maxAnswerBytes, concurrency: maxConnections } = rule;
    this.access = erpAccess.get(rule.name) ?? { credentials: { kind: 'none' }, ca: undefined };
    this.origin = new URL(enrichmentUrl(rule, {})).origin;
    const surroundings = { timeoutMs, proxy: rule.proxy ? machineCloud.proxy : undefined };
    const bounds = { maxAnswerBytes, maxConnections };
    const { ca } = this.access;
    this.transport = new HttpTransport({ ...surroundings, ...bounds, origin: this.origin, ca });
    this.tokens = tokensOf(this.access, this.origin, surroundings);
  }

  /** Path of an order from the root of the host, with its query; `values` are those of its thin event. */
  pathOf(values: ThinEvent['values']): string {
    const { pathname, search } = new URL(enrichmentUrl(this.rule, values));
    return `${pathname}${search}`;
  }

  /**
   * @param path see {@link pathOf}
   * @throws the signal's reason once that aborts, and nothing else
   */
  async getDocument(
    path: string,
    signal: AbortSignal,
    more: Readonly<Record<string, string>> = {},
  ): Promise<ErpAnswer> {
    const { tokens } = this;
    const { headers, timeoutMs } = this.rule;
    const sent = { ...headers, ...more, 'accept-encoding': 'identity' };
    if (tokens === undefined) return this.send(path, sent, signal);
    const scheme = this.access.credentials.kind === 'basic' ? 'Basic' : 'Bearer';
    return callWithToken<ErpAnswer>({
      tokens,
      timeoutMs,
      signal,
      send: (token) => this.send(path, { ...sent, authorization: `${scheme} ${token}` }, signal),
      without: withoutToken,
    });
  }

  /** Closes the connections; requests in flight fail. */
  async closeConnections(): Promise<void> {
    await Promise.all([this.transport.destroyConnections(), this.tokens?.closeTokenSource()]);
  }

  private async send(
    path: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<ErpAnswer> {
    const request = { operation: 'getErpOrder', method: 'GET', path, body: null } as const;
    const exchange = await this.transport.exchange(
      { ...request, headers: Object.entries(headers).flat(), isBinary: true },
      { signal },
    );
    return exchange.kind === 'failed' ? retry(null, exchange.why) : this.readReply(exchange);
  }

  private async readReply({ status, headers, chunks, bodyFault }: HttpReply): Promise<ErpAnswer> {
    const { maxAnswerBytes } = this.rule;
    const isTooLarge = bodyFault?.code === 'malformed-answer';
    if (bodyFault !== undefined && !isTooLarge) return retry(null, bodyFault.why);
    const { contentType = null, contentEncoding = '' } = headers;
    const isPage = /^\s*(text\/html|application\/xhtml\+xml)\b/i.test(contentType ?? '');
    const why = `the ERP answered ${status}`;
    if (status === 200) {
      if (isPage) return webPage();
      if (isTooLarge) return tooLarge(maxAnswerBytes);
      const body = Buffer.concat(chunks ?? []);
      return decompressed(body, contentEncoding.trim().toLowerCase(), contentType, maxAnswerBytes);
    }
    // a 404 with a gateway's page does not mean that the ERP lacks the order
    if (status === 204 || status === 410 || (status === 404 && !isPage)) {
      return { kind: 'gone', status };
    }
    if (status === 401 || status === 403) return { kind: 'unauthorised', status, why };
    if (status >= 400 && status < 500 && status !== 404 && !PASSING.has(status)) {
      return { kind: 'refused', code: 'status', status, why };
    }
    const isRedirect = status >= 300 && status < 400;
    return retry(
      status,
      isRedirect ? `${why}: redirects are not followed` : why,
      readRetryAfter(headers, realEpochMs()),
    );
  }
}

function retry(status: number | null, why: string, afterMs: number | null = null): ErpAnswer {
  return { kind: 'retry', status, why, afterMs };
}

function webPage(): ErpAnswer {
  return retry(200, 'the ERP answered with a web page, as of a login or of maintenance');
}

function withoutToken(reason: NoToken): ErpAnswer {
  return reason.kind === 'refused'
    ? { kind: 'unauthorised', status: 401, why: reason.why }
    : retry(null, reason.why, reason.afterMs);
}

/** Source of the value after the scheme in `Authorization`; undefined without a login. */
function tokensOf(
  { credentials, ca }: ErpAccess,
  origin: string,
  surroundings: { timeoutMs: number; proxy: ProxySettings | undefined },
): TokenSource | undefined {
  switch (credentials.kind) {
    case 'none':
      return undefined;
    case 'basic': {
      const { username, password } = credentials;
      const token = Buffer.from(`${username}:${password}`).toString('base64');
      return openTokenSource({ kind: 'fixed', token }, surroundings);
    }
    case 'oauth': {
      // A token server on the ERP's host has its certificate authority; another, such as a cloud's, a public one.
      const isItsOwn = new URL(credentials.tokenUrl).hostname === new URL(origin).hostname;
      return openTokenSource(credentials, { ...surroundings, ca: isItsOwn ? ca : undefined });
    }
    default:
      return openTokenSource(credentials, surroundings);
  }
}

/**
 * Decompresses an answer, but not beyond its limit: some servers compress although they were asked not to. What cannot
 * be unpacked is the fault of a proxy or of the server, and not of the order.
 */
async function decompressed(
  body: Buffer,
  encoding: string,
  contentType: string | null,
  maxOutputLength: number,
): Promise<ErpAnswer> {
  if (encoding === 'identity' || encoding === '') return documentOf(contentType, body);
  if (encoding !== 'gzip' && encoding !== 'x-gzip') {
    return retry(200, 'the ERP answered in an encoding that it was not asked for');
  }
  try {
    return documentOf(contentType, await unzip(body, { maxOutputLength }));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      return tooLarge(maxOutputLength);
    }
    return retry(200, 'the ERP answered with gzip that cannot be unpacked');
  }
}

function tooLarge(maxAnswerBytes: number): ErpAnswer {
  const why = `the ERP answered with more than ${maxAnswerBytes} bytes`;
  return { kind: 'refused', code: 'too-large', status: 200, why };
}

function documentOf(contentType: string | null, body: Buffer): ErpAnswer {
  if (isWebPage(body, contentType)) return webPage();
  return isEmptyList(body)
    ? { kind: 'gone', status: 200 }
    : { kind: 'document', contentType, body };
}

/** A larger body is not an empty list. */
const LARGEST_EMPTY_BYTES = 4096;
const LISTS = ['d', 'results', 'value', 'items', 'data'];

/** Whether a body is an empty list, as a query without results answers: bare, or as OData and REST services wrap it. */
function isEmptyList(body: Buffer): boolean {
  if (body.length > LARGEST_EMPTY_BYTES) return false;
  const json = readJson(body);
  return json.ok && isEmpty(json.value, 2);
}

function isEmpty(json: unknown, levels: number): boolean {
  if (Array.isArray(json)) return json.length === 0;
  if (levels === 0 || !isJsonObject(json)) return false;
  return LISTS.some((name) => Object.hasOwn(json, name) && isEmpty(json[name], levels - 1));
}
