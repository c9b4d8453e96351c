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
      scope?: string | undefined;
    };

/** The way of a token that never changes. */
export function fixedToken(token: string): TokenWay {
  return { kind: 'fixed', token };
}

/** A token, or why there is none. */
export type TokenAnswer = { kind: 'token'; token: string } | NoToken;

export type NoToken =
  /** The credentials are not accepted. `why` is a sentence without any secret, as below. */
  | { kind: 'refused'; why: string }
  /** Worth asking again, not before `afterMs` (real milliseconds) have passed. */
  | { kind: 'unavailable'; why: string; afterMs: number | null };

/** Source of the access token that calls send. */
export interface TokenSource {
  /** The token to send now, undefined when {@link obtain} has to be awaited. Every call asks: it is quick. */
  current(): string | undefined;

  /** A token to send now; callers that ask at the same time share one request. */
  obtain(): Promise<TokenAnswer>;

  /** After the service has refused a token: another one to try, null when there is none. */
  replace(refused: string, status: 401 | 403): Promise<TokenAnswer | null>;

  /** Gives up a renewal that is under way. */
  close(): Promise<void>;
}

/** Anything else would fail in the HTTP library, with the token in its message. */
const SENDABLE = /^[\x21-\x7e]+$/;

const WHY =
  'it holds a line break, a blank or another character that no token in a header can have';

/** Why a header cannot carry this token, without repeating it; undefined when it can. */
export function whyUnsendable(token: string): string | undefined {
  if (token === '') return 'it is empty';
  return SENDABLE.test(token) ? undefined : WHY;
}
