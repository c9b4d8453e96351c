/** What came of asking for a token. */
export type TokenAnswer = { kind: 'token'; token: string } | NoToken;

export type NoToken =
  /** The credentials are not accepted. `why` is a sentence without any secret, as below. */
  | { kind: 'refused'; why: string }
  /** Worth asking again, not before `afterMs` (real milliseconds) have passed. */
  | { kind: 'unavailable'; why: string; afterMs: number | null };

/** Where calls get their access token from. */
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
