import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { type Dispatcher, Pool } from 'undici';
import { afterRealMs, onAbort, realEpochMs } from '#libs/clock';
import {
  openClientCredentials,
  type TokenAnswer,
  TokenFileSource,
  type TokenSource,
} from '#libs/access-tokens';
import { type HttpsProxy, readRetryAfter, resettingConnector } from '#libs/http-calls';

/** How a request says who asks. */
type Credentials =
  | { kind: 'none' }
  | { kind: 'bearer'; token: string }
  | { kind: 'bearerFile'; path: string }
  | { kind: 'basic'; username: string; password: string }
  | { kind: 'oauth'; tokenUrl: string; clientId: string; clientSecret: string; scope?: string };

export interface ErpClientOptions {
  /** `https://host:port` */
  origin: string;
  credentials: Credentials;
  /** Sent with every request; names in lower case. */
  headers: Readonly<Record<string, string>>;
  /** Trusted in place of the system's certificates, in PEM; also for the token's server if on the same host. */
  ca: string | undefined;
  /** Of https alone. */
  proxy: HttpsProxy | undefined;
  maxConnections: number;
  /** Real milliseconds from the request to the end of the answer; a token has as long again. */
  timeoutMs: number;
  /** Of the body, unpacked too. */
  maxAnswerBytes: number;
}

/** What a GET came to. No text of the answer or of a secret is in `why`. */
export type ErpAnswer =
  | { kind: 'document'; contentType: string | null; body: Buffer }
  /** 204: there is nothing at the address. */
  | { kind: 'nothing' }
  /** 404 and 410. */
  | { kind: 'gone'; status: 404 | 410 }
  /** The request's own fault, or an answer that cannot be taken: to ask again will not help. */
  | {
      kind: 'refused';
      code: 'invalid-message' | 'too-large' | 'status';
      status: number;
      why: string;
    }
  | { kind: 'unauthorised'; status: 401 | 403; why: string }
  /** Worth asking again, not before `afterMs` (real milliseconds, from `Retry-After`) have passed. */
  | { kind: 'retry'; status: number | null; why: string; afterMs: number | null };

/** Statuses that pass; so does what a gateway answers in place of the ERP. */
const PASSING = new Set([408, 425, 429]);
/** Of an answer whose body does not matter, so that its connection can be used again. */
const MOST_DUMPED_BYTES = 65_536;

const unzip = promisify(gunzip);

/** Asks one ERP. Follows no redirect, since credentials would travel to another host. */
export class ErpClient {
  private readonly pool: Pool;
  private readonly tokens: TokenSource | undefined;
  private readonly fixed: string | undefined;

  constructor(private readonly options: ErpClientOptions) {
    const { origin, credentials, proxy, ca, timeoutMs } = options;
    this.pool = new Pool(origin, {
      connections: options.maxConnections,
      connect: resettingConnector(timeoutMs, proxy, ca),
      // these two watch for inactivity; the deadline covers the whole request
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    this.tokens = tokensOf(options);
    this.fixed = fixedAuthorization(credentials);
  }

  /**
   * @param path from the root of the host, with its query
   * @throws the signal's reason once that aborts, and nothing else
   */
  async get(
    path: string,
    signal: AbortSignal,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<ErpAnswer> {
    const first = await this.authorise(signal);
    if (first.kind !== 'authorised') return first;
    const answer = await this.send(path, first.authorization, signal, headers);
    if (answer.kind !== 'unauthorised' || this.tokens === undefined) return answer;
    const other = await this.tokens.replace(first.token, answer.status);
    signal.throwIfAborted();
    if (other === null) return answer;
    const again = authorised(other);
    return again.kind === 'authorised'
      ? this.send(path, again.authorization, signal, headers)
      : again;
  }

  /** Requests in flight fail. */
  async close(): Promise<void> {
    await Promise.all([this.pool.destroy(), this.tokens?.close()]);
  }

  private async authorise(signal: AbortSignal): Promise<Authorised | ErpAnswer> {
    const { tokens, fixed } = this;
    if (tokens === undefined) return { kind: 'authorised', authorization: fixed, token: '' };
    const token = tokens.current();
    const answer: TokenAnswer =
      token === undefined ? await tokens.obtain() : { kind: 'token', token };
    signal.throwIfAborted();
    return authorised(answer);
  }

  private async send(
    path: string,
    authorization: string | undefined,
    signal: AbortSignal,
    more: Readonly<Record<string, string>>,
  ): Promise<ErpAnswer> {
    signal.throwIfAborted();
    const { timeoutMs, headers } = this.options;
    const end = new AbortController();
    const late = new Error(`no whole answer in ${timeoutMs} ms`);
    const stopTimer = afterRealMs(timeoutMs, () => {
      end.abort(late);
    });
    const leave = onAbort(signal, () => {
      end.abort(signal.reason);
    });
    try {
      const response = await this.pool.request({
        ...{ method: 'GET', path, signal: end.signal },
        headers: {
          ...headers,
          ...more,
          'accept-encoding': 'identity',
          ...(authorization !== undefined && { authorization }),
        },
      });
      return await this.read(response);
    } catch (error) {
      signal.throwIfAborted();
      const { code, message } = error as NodeJS.ErrnoException;
      const why = end.signal.aborted ? late.message : message || code;
      return { kind: 'retry', status: null, why: why ?? 'no answer', afterMs: null };
    } finally {
      stopTimer();
      leave();
    }
  }

  private async read(response: Dispatcher.ResponseData): Promise<ErpAnswer> {
    const { statusCode: status, headers, body } = response;
    const contentType = firstOf(headers['content-type']) ?? null;
    if (status === 200) return this.readBody(response, contentType);
    await body.dump({ limit: MOST_DUMPED_BYTES });
    if (status === 204) return { kind: 'nothing' };
    const why = `the ERP answered ${status}`;
    // the page of a gateway is not the ERP's word for an order that is not there
    if (status === 410 || (status === 404 && !isWebPage(contentType))) {
      return { kind: 'gone', status };
    }
    if (status === 401 || status === 403) return { kind: 'unauthorised', status, why };
    if (status >= 400 && status < 500 && status !== 404 && !PASSING.has(status)) {
      return { kind: 'refused', code: 'status', status, why };
    }
    const retryAfter = firstOf(headers['retry-after']);
    const afterMs = readRetryAfter({ retryAfter, date: firstOf(headers['date']) }, realEpochMs());
    const isRedirect = status >= 300 && status < 400;
    return {
      ...{ kind: 'retry', status, afterMs },
      why: isRedirect ? `${why}: redirects are not followed` : why,
    };
  }

  private async readBody(
    { headers, body }: Dispatcher.ResponseData,
    contentType: string | null,
  ): Promise<ErpAnswer> {
    const status = 200;
    if (isWebPage(contentType)) {
      await body.dump({ limit: MOST_DUMPED_BYTES });
      const why = 'the ERP answered with a web page, as of a login or of maintenance';
      return { kind: 'retry', status, why, afterMs: null };
    }
    const { maxAnswerBytes } = this.options;
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxAnswerBytes) return tooLarge(maxAnswerBytes);
      chunks.push(chunk);
    }
    const whole = Buffer.concat(chunks);
    const encoding = firstOf(headers['content-encoding'])?.trim().toLowerCase() ?? 'identity';
    if (encoding === 'identity' || encoding === '') {
      return { kind: 'document', contentType, body: whole };
    }
    if (encoding !== 'gzip' && encoding !== 'x-gzip') {
      const why = 'the ERP answered in an encoding that it was not asked for';
      return { kind: 'refused', code: 'invalid-message', status, why };
    }
    return unzipped(whole, contentType, maxAnswerBytes);
  }
}

interface Authorised {
  kind: 'authorised';
  authorization: string | undefined;
  /** Empty where it is none that could be replaced. */
  token: string;
}

function authorised(answer: TokenAnswer): Authorised | ErpAnswer {
  switch (answer.kind) {
    case 'token': {
      const { token } = answer;
      return { kind: 'authorised', authorization: `Bearer ${token}`, token };
    }
    case 'refused':
      return { kind: 'unauthorised', status: 401, why: answer.why };
    case 'unavailable':
      return { kind: 'retry', status: null, why: answer.why, afterMs: answer.afterMs };
    default:
      return answer satisfies never;
  }
}

function tokensOf(options: ErpClientOptions): TokenSource | undefined {
  const { origin, credentials, proxy, ca, timeoutMs } = options;
  if (credentials.kind === 'bearerFile') return new TokenFileSource(credentials.path);
  if (credentials.kind !== 'oauth') return undefined;
  const { tokenUrl, clientId, clientSecret, scope } = credentials;
  const client = { tokenUrl, clientId, clientSecret, ...(scope !== undefined && { scope }) };
  // An ERP's own token server has its authority; another host, as of a cloud's logins, has one of those that all know.
  const isItsOwn = new URL(tokenUrl).hostname === new URL(origin).hostname;
  return openClientCredentials(client, { timeoutMs, proxy, ca: isItsOwn ? ca : undefined });
}

function fixedAuthorization(credentials: Credentials): string | undefined {
  if (credentials.kind === 'bearer') return `Bearer ${credentials.token}`;
  if (credentials.kind !== 'basic') return undefined;
  const { username, password } = credentials;
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** Some servers pack what they were asked not to; what unpacks to more than its limit is not unpacked to its end. */
async function unzipped(
  packed: Buffer,
  contentType: string | null,
  maxOutputLength: number,
): Promise<ErpAnswer> {
  try {
    return { kind: 'document', contentType, body: await unzip(packed, { maxOutputLength }) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      return tooLarge(maxOutputLength);
    }
    const why = 'the ERP answered with gzip that cannot be unpacked';
    return { kind: 'refused', code: 'invalid-message', status: 200, why };
  }
}

function tooLarge(maxAnswerBytes: number): ErpAnswer {
  const why = `the ERP answered with more than ${maxAnswerBytes} bytes`;
  return { kind: 'refused', code: 'too-large', status: 200, why };
}

function isWebPage(contentType: string | null): boolean {
  return /^\s*(text\/html|application\/xhtml\+xml)\b/i.test(contentType ?? '');
}

function firstOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}
