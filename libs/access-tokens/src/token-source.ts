import { TIMED_OUT, withTimeout } from '#libs/clock';
import { tokenFault } from '#libs/config';

export type TokenAnswer = { kind: 'token'; token: string } | NoToken;

export type NoToken =
  /** The credentials are not accepted. `why` is a sentence without any secret, as below. */
  | { kind: 'refused'; why: string }
  /** To be requested again, not before `afterMs` (real milliseconds) have passed. */
  | { kind: 'unavailable'; why: string; afterMs: number | null };

export interface TokenSource {
  /** The token to send now; undefined if {@link obtainToken} must be awaited. Every call uses it: it is fast. */
  currentToken(): string | undefined;

  /** A token to send now; callers that ask at the same time share one request. */
  obtainToken(): Promise<TokenAnswer>;

  /** Another token to try after the service has refused one; null if there is none. */
  replaceToken(refused: string, status: 401 | 403): Promise<TokenAnswer | null>;

  /** Aborts a renewal in progress. */
  closeTokenSource(): Promise<void>;
}

interface TokenCall<A> {
  tokens: TokenSource;
  /** Deadline of a request, in real milliseconds. */
  timeoutMs: number;
  signal: AbortSignal | undefined;
  /** Awaited before the request, and before it is repeated. */
  turn?: ((isAgain: boolean) => Promise<void>) | undefined;
  send: (token: string) => Promise<A>;
  /** Makes the answer if there is no token. */
  without: (reason: NoToken) => A;
}

/**
 * Makes a request, and once more if its token was refused (`unauthorised`) and there is another.
 *
 * @throws the signal's reason, and errors of `turn` and `send`
 */
export async function callWithToken<A extends { kind: string; status?: number | null }>(
  call: TokenCall<A>,
): Promise<A> {
  const { tokens, timeoutMs, signal, turn, send, without } = call;
  // a way to a token takes two requests at most, each with its own deadline
  const deadlineMs = 2 * timeoutMs;
  // a caller that gives up leaves the renewal to the others
  const inTime = async <T>(work: () => Promise<T>): Promise<T | NoToken> => {
    const answer = await withTimeout(deadlineMs, signal, work);
    if (answer !== TIMED_OUT) return answer;
    return { kind: 'unavailable', why: `none in ${deadlineMs} ms`, afterMs: null };
  };
  signal?.throwIfAborted();
  let token = tokens.currentToken();
  if (token === undefined) {
    const obtained = await inTime(() => tokens.obtainToken());
    if (obtained.kind !== 'token') return without(obtained);
    ({ token } = obtained);
  }
  if (turn !== undefined) await turn(false);
  // it may have been renewed meanwhile
  const sent = tokens.currentToken() ?? token;
  const answer = await send(sent);
  if (answer.kind !== 'unauthorised') return answer;
  const status = answer.status === 403 ? 403 : 401;
  const other = await inTime(() => tokens.replaceToken(sent, status));
  // a 403 may concern the request alone, even while no other token can be obtained
  if (other === null || (other.kind !== 'token' && status === 403)) return answer;
  if (other.kind !== 'token') return without(other);
  if (turn !== undefined) await turn(true);
  return send(other.token);
}

/** Why a header cannot carry this token, without repeating it; undefined when it can. */
export function whyUnsendable(token: string): string | undefined {
  const fault = token === '' ? 'is empty' : tokenFault(token);
  return fault && `it ${fault}`;
}

export function fixedTokenSource(text: string): TokenSource {
  const token = text.trim();
  const why = whyUnsendable(token);
  const answer: TokenAnswer =
    why === undefined ? { kind: 'token', token } : { kind: 'unavailable', why, afterMs: null };
  return {
    currentToken: () => (why === undefined ? token : undefined),
    obtainToken: () => Promise.resolve(answer),
    replaceToken: () => Promise.resolve(null),
    closeTokenSource: () => Promise.resolve(),
  };
}
