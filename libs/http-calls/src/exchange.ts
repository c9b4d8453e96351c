import { afterRealMs, onAbort } from '#libs/clock';

/** The caller's hold on a call: it may cancel it, or object before it is sent. */
export interface HttpCaller {
  /** Cancels the call, which rejects with its reason. */
  readonly signal: AbortSignal | undefined;
  /**
   * Asked right before anything is written to the service, however long the request has waited for its
   * turn, a token or a connection: a process may have been suspended meanwhile. A request that is
   * objected to is not sent, and the call rejects with the objection. Without it test/chaos/group.chaos-spec.ts fails:
   * a process that was suspended while connections were opening sends what waited for them.
   */
  readonly objection?: () => Error | undefined;
}

/** Names and values in turn, as undici takes them. */
export type HeaderList = string[];

export const ASKED_FOR: Readonly<HeaderList> = [
  ...['accept', 'application/json'],
  ...['accept-encoding', 'identity'],
];

export interface HttpRequest {
  /** Name that such requests are counted under. */
  operation: string;
  method: 'GET' | 'POST' | 'PUT';
  /** From the root of the host, with its query. */
  path: string;
  headers: HeaderList;
  body: string | null;
  /** Taken out of an error body that echoes it. */
  token?: string;
  /** In place of the transport's limit. */
  maxAnswerBytes?: number | undefined;
  /** The answer is wanted as it comes, in {@link HttpReply.chunks}. */
  isBinary?: boolean;
}

export interface HttpReply {
  kind: 'reply';
  status: number;
  headers: Partial<
    Record<
      'retryAfter' | 'date' | 'contentType' | 'contentEncoding' | 'location',
      string | undefined
    >
  >;
  /** Empty when `bodyFault` is set. */
  body: string;
  /** The body of a binary request, which has none in `body`. */
  chunks?: Buffer[] | undefined;
  /** The first piece of the body, which is all that may be known of one with a fault. */
  beginning: Buffer | undefined;
  /** The status arrived but the body did not: the connection broke, time was up, or it was larger than allowed. */
  bodyFault?: { code: 'network' | 'timeout' | 'malformed-answer'; why: string };
}

/** A failure is kept in words alone: an HTTP library's own error carries the request's headers. */
export type Exchange = HttpReply | { kind: 'failed'; code: 'timeout' | 'network'; why: string };

/** One HTTP request as it is counted: its status or why it has none. Logins are counted like calls. */
export interface HttpCall extends Pick<HttpRequest, 'operation'> {
  status: number | 'timeout' | 'network' | 'aborted';
  /** Real milliseconds; waiting for a token or for its turn comes before. */
  durationMs: number;
}

export const TIMED_OUT = Symbol('timed out');

/**
 * Gives `work` up with the signal or after `timeoutMs`, and does not wait for work that ignores that (a request queued
 * behind a connection that is still opening does).
 *
 * @throws the reason of the signal once that is aborted, whatever `work` came to
 */
export function withTimeout<T>(
  timeoutMs: number,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
  onGivenUp: () => void = () => undefined,
): Promise<T | typeof TIMED_OUT> {
  if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
  return new Promise((resolve, reject) => {
    const settle = (result: T | typeof TIMED_OUT): void => {
      leave();
      if (signal?.aborted === true) reject(signal.reason as Error);
      else resolve(result);
    };
    const giveUp = (): void => {
      settle(TIMED_OUT);
      onGivenUp();
    };
    const stopTimer = afterRealMs(timeoutMs, giveUp);
    const stopWatching = signal && onAbort(signal, giveUp);
    const leave = (): void => {
      stopTimer();
      stopWatching?.();
    };
    work().then(settle, (error: unknown) => {
      leave();
      reject(error instanceof Error ? error : new Error(String(error)));
    });
  });
}
