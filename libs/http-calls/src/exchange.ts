import { afterRealMs, onAbort } from '#libs/clock';

/** Lets the caller cancel a call, or object before it is sent. */
export interface HttpCaller {
  /** Cancels the call, which rejects with its reason. */
  readonly signal: AbortSignal | undefined;
  /**
   * Called right before the request is written, however long it has waited for its turn, a token or a connection: the
   * process may have been suspended meanwhile. If it returns an error, nothing is sent and the call rejects with it.
   * Without it test/chaos/group.chaos-spec.ts fails: a process that was suspended while connections were opening
   * sends the requests that waited for them.
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
  /** Name under which metrics count the request. */
  operation: string;
  method: 'GET' | 'POST' | 'PUT';
  /** From the root of the host, with its query. */
  path: string;
  headers: HeaderList;
  body: string | null;
  /** Removed from an error body that echoes it. */
  token?: string;
  /** Replaces the transport's limit. */
  maxAnswerBytes?: number | undefined;
  /** Whether the answer's body is returned as bytes, in {@link HttpReply.chunks}. */
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
  /** The first chunk of the body; after a fault, all that may be known of it. */
  beginning: Buffer | undefined;
  /** The status arrived but the body did not: the connection broke, time was up, or it was larger than allowed. */
  bodyFault?: { code: 'network' | 'timeout' | 'malformed-answer'; why: string };
}

/** A failure is kept as text: an HTTP library's own error contains the request's headers. */
export type Exchange = HttpReply | { kind: 'failed'; code: 'timeout' | 'network'; why: string };

/** One HTTP request for metrics: its status, or why it has none. Logins count like calls. */
export interface HttpCall extends Pick<HttpRequest, 'operation'> {
  status: number | 'timeout' | 'network' | 'aborted';
  /** Real milliseconds, without the wait for a token or a turn. */
  durationMs: number;
}

export const TIMED_OUT = Symbol('timed out');

/**
 * Gives up `work` with the signal or after `timeoutMs`, and does not wait for work that ignores that (as a request
 * queued behind a connection that is still opening).
 *
 * @throws the reason of the signal once it is aborted, whatever the result of `work`
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
