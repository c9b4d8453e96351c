import { type CloudAnswer } from '../cloud-answer.js';
import { type FieldReader } from '../field-reader.js';
import { RememberedForm } from '../remembered-form.js';
import { readToken, type TokenGrant } from './token-grant.js';
import { type TokenRequests } from './token-requests.js';

export interface ClientCredentials {
  clientId: string;
  clientSecret: string;
  scope?: string;
}

/** Where the credentials go (RFC 6749, section 2.3.1): every server should take the first, many want the second. */
type CredentialsForm = 'basic' | 'body';

/** The client credentials grant (RFC 6749, section 4.4). */
export function clientCredentials(
  requests: TokenRequests,
  credentials: ClientCredentials,
): () => Promise<CloudAnswer<TokenGrant>> {
  const forms = new RememberedForm<CredentialsForm>(['basic', 'body'], isRefused);
  return () =>
    forms.call((form) => {
      const authorization = form === 'basic' ? { Authorization: basic(credentials) } : {};
      const headers = { 'Content-Type': 'application/x-www-form-urlencoded', ...authorization };
      return requests.post(headers, bodyIn(form, credentials));
    });
}

/**
 * Reads `access_token`, `token_type` (Bearer, in any case, or absent) and `expires_in` in seconds.
 * A life that makes no sense is left out: the token is good all the same.
 *
 * @throws MalformedField
 */
export function parseGrant(answer: FieldReader): TokenGrant {
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

function isRefused(answer: CloudAnswer<unknown>): boolean {
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
