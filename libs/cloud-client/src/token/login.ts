import { type CloudAnswer } from '../cloud-answer.js';
import { type FieldReader } from '../field-reader.js';
import { readToken, type TokenGrant } from './token-grant.js';
import { type TokenRequests } from './token-requests.js';

export const LOGIN_PATH = 'security/getAPIToken';

/** The service's own login: e-mail address and password for a token. */
export function login(
  requests: TokenRequests,
  { email, password }: { email: string; password: string },
): () => Promise<CloudAnswer<TokenGrant>> {
  const body = JSON.stringify({ userEmail: email, password });
  return () => requests.post({ 'Content-Type': 'application/json' }, body);
}

/** @throws MalformedField */
export function parseLogin(answer: FieldReader): TokenGrant {
  return { token: readToken(answer.field('token')), lifeMs: null };
}
