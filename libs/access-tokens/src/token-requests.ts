import { realEpochMs } from '#libs/clock';
import { FIRST_IMPLAUSIBLE_SECOND } from '#libs/contracts';
import {
  ASKED_FOR,
  bodyRead,
  type HttpAnswer,
  type Exchange,
  type AnswerField,
  HttpTransport,
  type HttpTransportOptions,
  parseHttpDate,
  type SuccessMeaning,
  toAnswer,
} from '#libs/http-calls';
import { whyUnsendable } from './token-source.js';

/** Requests for an access token: the service's login, and the token endpoint of an OAuth 2.0 server. */
export type TokenOperation = 'getAPIToken' | 'getOAuthToken';

const MAX_ANSWER_BYTES = 64 * 1024;

export type TokenSurroundings = Pick<
  HttpTransportOptions,
  'timeoutMs' | 'proxy' | 'ca' | 'durations'
>;

interface TokenRequestsOptions extends TokenSurroundings {
  operation: TokenOperation;
  url: URL;
  parse: (answer: AnswerField) => TokenGrant;
  /** Awaited before each request. */
  turn?: () => Promise<void>;
}

/** Requests for a token, on a connection of their own, so that calls that hang do not delay them. */
export class TokenRequests {
  readonly operation: TokenOperation;
  private readonly transport: HttpTransport;

  constructor(private readonly options: TokenRequestsOptions) {
    this.operation = options.operation;
    this.transport = new HttpTransport({
      ...options,
      origin: options.url.origin,
      maxConnections: 1,
      maxAnswerBytes: MAX_ANSWER_BYTES,
    });
  }

  async post(headers: Record<string, string>, body: string): Promise<HttpAnswer<TokenGrant>> {
    const { operation, url, parse, turn } = this.options;
    await turn?.();
    const exchange = await this.transport.exchange({
      operation,
      method: 'POST',
      path: `${url.pathname}${url.search}`,
      headers: [...ASKED_FOR, ...Object.entries(headers).flat()],
      body,
    });
    return toAnswer(operation, withoutEcho(exchange), grantRead(parse), realEpochMs());
  }

  /** Closes the connection; requests in flight fail. */
  async closeConnection(): Promise<void> {
    await this.transport.destroyConnections();
  }
}

/** Reduces an error body to a known OAuth code: the body may repeat the credentials in any encoding. */
function withoutEcho(exchange: Exchange): Exchange {
  if (exchange.kind === 'failed' || exchange.status < 300) return exchange;
  return { ...exchange, body: oauthErrorCode(exchange.body) ?? '' };
}

/** An issued token; `lifeMs` counts from its issue, null when it is unknown. */
export interface TokenGrant {
  token: string;
  lifeMs: number | null;
}

/** Reads a successful answer; if the token is a JWT, its own expiry counts too. */
function grantRead(parse: TokenRequestsOptions['parse']): SuccessMeaning<TokenGrant> {
  const read = bodyRead(parse);
  return (operation, reply): HttpAnswer<TokenGrant> => {
    const answer = read(operation, reply);
    if (answer.kind !== 'data') return answer;
    const { token, lifeMs } = answer.data;
    const issuedMs = parseHttpDate(reply.headers.date ?? '') ?? realEpochMs();
    const lives = [lifeMs, jwtLifeMs(token, issuedMs)].filter((life) => life !== null);
    return { kind: 'data', data: { token, lifeMs: lives.length > 0 ? Math.min(...lives) : null } };
  };
}

/** @throws MalformedField, which repeats no value */
export function readToken(field: AnswerField): string {
  const { value } = field;
  if (typeof value !== 'string' || value === '') return field.fail('a non-empty string');
  return whyUnsendable(value) === undefined ? value : field.fail('what a header can carry');
}

/**
 * Remaining life of a JWT (RFC 7519) by its claim `exp`, in milliseconds. Null for any other token,
 * and for one that seems to have expired: it has just been issued, so a clock must be wrong.
 *
 * @param nowMs epoch milliseconds, preferably by the issuer's clock
 */
export function jwtLifeMs(token: string, nowMs: number): number | null {
  const [, payload, signature] = token.split('.');
  if (payload === undefined || signature === undefined) return null;
  try {
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as unknown;
    const { exp } = Object(claims) as { exp?: unknown };
    if (typeof exp !== 'number' || exp >= FIRST_IMPLAUSIBLE_SECOND) return null;
    return exp * 1000 > nowMs ? exp * 1000 - nowMs : null;
  } catch {
    return null;
  }
}

/** RFC 6749, section 5.2. */
const OAUTH_ERROR_CODES = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
];

function oauthErrorCode(body: string): string | undefined {
  return OAUTH_ERROR_CODES.find((code) => new RegExp(`"error"\\s*:\\s*"${code}"`).test(body));
}
