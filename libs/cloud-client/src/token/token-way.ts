/** The ways to an access token; one of them is taken. */
export type TokenWay =
  | { kind: 'fixed'; token: string }
  /** Read again whenever the file changes. */
  | { kind: 'file'; path: string }
  /** The service's own login. */
  | { kind: 'login'; email: string; password: string }
  /** OAuth 2.0 client credentials (RFC 6749, section 4.4). */
  | {
      kind: 'oauth';
      tokenUrl: string;
      clientId: string;
      clientSecret: string;
      scope?: string;
    };

/** The way of a token that never changes. */
export function fixedToken(token: string): TokenWay {
  return { kind: 'fixed', token };
}
