import type { TokenSettings } from '#libs/config';
import { type HttpAnswer, type AnswerField, RememberedForm } from '#libs/http-calls';
import { RenewedTokenSource } from './renewed-token-source.js';
import { TokenFileSource } from './token-file-source.js';
import {
  readToken,
  type TokenGrant,
  TokenRequests,
  type TokenSurroundings,
} from './token-requests.js';
import { fixedTokenSource, type TokenSource } from './token-source.js';

interface LoginSurroundings extends TokenSurroundings {
  login: URL;
  /** Awaited before each login, which counts as a request to the service; one to an OAuth server does not. */
  turn?: () => Promise<void>;
}

/** Opens the source of the service's tokens; it sends nothing before the first token is needed. */
export function openServiceTokens(
  settings: TokenSettings,
  surroundings: LoginSurroundings,
): TokenSource {
  return settings.kind === 'login'
    ? loginSource(settings, surroundings)
    : openTokenSource(settings, surroundings);
}

/** Opens a source of tokens for any server. */
export function openTokenSource(
  settings: Exclude<TokenSettings, { kind: 'login' }>,
  surroundings: TokenSurroundings,
): TokenSource {
  switch (settings.kind) {
    case 'fixed':
      return fixedTokenSource(settings.token);
    case 'file':
      return new TokenFileSource(settings.path);
    case 'oauth':
      return openClientCredentials(settings, surroundings);
    default:
      return settings satisfies never;
  }
}

function loginSource(
  { email, password }: Extract<TokenSettings, { kind: 'login' }>,
  { login, ...surroundings }: LoginSurroundings,
): TokenSource {
  const requests = new TokenRequests({
    operation: 'getAPIToken',
    url: login,
    parse: (answer) => ({ token: readToken(answer.field('token')), lifeMs: null }),
    ...surroundings,
  });
  const body = JSON.stringify({ userEmail: email, password });
  const headers = { 'Content-Type': 'application/json' };
  return new RenewedTokenSource(requests, () => requests.post(headers, body));
}

/** Tokens by the client credentials grant (RFC 6749, section 4.4). */
export function openClientCredentials(
  credentials: ClientCredentials,
  surroundings: TokenSurroundings,
): RenewedTokenSource {
  const requests = new TokenRequests({
    ...surroundings,
    operation: 'getOAuthToken',
    url: new URL(credentials.tokenUrl),
    parse: parseGrant,
  });
  const forms = new RememberedForm<CredentialsForm>(['basic', 'body'], isRefused);
  return new RenewedTokenSource(requests, () =>
    forms.callWithForm((form) => {
      const authorization = form === 'basic' ? { Authorization: basic(credentials) } : {};
      const headers = { 'Content-Type': 'application/x-www-form-urlencoded', ...authorization };
      return requests.post(headers, bodyIn(form, credentials));
    }),
  );
}

/** Place of the credentials (RFC 6749, section 2.3.1): every server should accept the first, many want the second. */
type CredentialsForm = 'basic' | 'body';

type ClientCredentials = Omit<Extract<TokenSettings, { kind: 'oauth' }>, 'kind'>;

/**
 * Reads `access_token`, `token_type` (Bearer, in any case, or absent) and `expires_in` in seconds. A nonsensical
 * lifetime is ignored: the token is usable all the same.
 *
 * @throws MalformedField
 */
function parseGrant(answer: AnswerField): TokenGrant {
  const type = answer.field('token_type');
  if (!/^bearer$/i.test(type.textOr('bearer'))) type.fail('Bearer');
  const lifeMs = readLifeMs(answer.field('expires_in').value);
  return { token: readToken(answer.field('access_token')), lifeMs };
}

function readLifeMs(value: unknown): number | null {
  const seconds = typeof value === 'string' ? Number(value) : value;
  return typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0
    ? seconds * 1000
    : null;
}

function isRefused(answer: HttpAnswer<unknown>): boolean {
  if (answer.kind === 'rejected') return answer.status === 400;
  return answer.kind === 'unauthorised' && answer.status === 401;
}

function bodyIn(form: CredentialsForm, credentials: ClientCredentials): string {
  const { clientId, clientSecret, scope } = credentials;
  return new URLSearchParams({
    grant_type: 'client_credentials',
    ...(scope === undefined ? {} : { scope }),
    ...(form === 'body' ? { client_id: clientId, client_secret: clientSecret } : {}),
  }).toString();
}

/** Both parts are form-encoded first, so that a colon in them does not divide them. */
function basic({ clientId, clientSecret }: ClientCredentials): string {
  const pair = [clientId, clientSecret].map(formEncoded).join(':');
  return `Basic ${Buffer.from(pair).toString('base64')}`;
}

function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1);
}
