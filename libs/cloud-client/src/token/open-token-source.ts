import { apiPath } from '../exchange.js';
import { type RequestPace } from '../request-pace.js';
import { type TimedExchanges } from '../timed-exchanges.js';
import { clientCredentials, parseGrant } from './client-credentials.js';
import { FixedTokenSource } from './fixed-token-source.js';
import { login, LOGIN_PATH, parseLogin } from './login.js';
import { RenewedTokenSource } from './renewed-token-source.js';
import { TokenFileSource } from './token-file-source.js';
import { TokenRequests } from './token-requests.js';
import { type TokenSource } from './token-source.js';
import { type TokenWay } from './token-way.js';

export interface TokenSurroundings {
  /** Of the service. */
  baseUrl: string;
  exchanges: TimedExchanges;
  /** Counts the login, which is the service's; an OAuth server is another's. */
  pace: RequestPace | undefined;
}

export function openTokenSource(way: TokenWay, surroundings: TokenSurroundings): TokenSource {
  switch (way.kind) {
    case 'fixed':
      return new FixedTokenSource(way.token);
    case 'file':
      return new TokenFileSource(way.path);
    case 'login':
      return loginSource(way, surroundings);
    case 'oauth':
      return oauthSource(way, surroundings);
    default:
      return way satisfies never;
  }
}

function loginSource(
  way: Extract<TokenWay, { kind: 'login' }>,
  { baseUrl, exchanges, pace }: TokenSurroundings,
): TokenSource {
  const requests = new TokenRequests({
    operation: 'getAPIToken',
    url: new URL(`${apiPath(baseUrl)}/${LOGIN_PATH}`, baseUrl),
    parse: parseLogin,
    exchanges,
    ...(pace && { turn: () => pace.turnAhead() }),
  });
  return renewed(requests, login(requests, way));
}

function oauthSource(
  way: Extract<TokenWay, { kind: 'oauth' }>,
  { exchanges }: TokenSurroundings,
): TokenSource {
  const requests = new TokenRequests({
    operation: 'getOAuthToken',
    url: new URL(way.tokenUrl),
    parse: parseGrant,
    exchanges,
  });
  return renewed(requests, clientCredentials(requests, way));
}

function renewed(requests: TokenRequests, issue: ReturnType<typeof login>): TokenSource {
  const { operation } = requests;
  return new RenewedTokenSource({ operation, issue, close: () => requests.close() });
}
