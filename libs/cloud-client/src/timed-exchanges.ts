import { afterRealMs, onAbort, realNowMs } from '#libs/clock';
import { type CloudCall } from './cloud-client-options.js';
import { type Caller, type Exchange, type Operation, type ServiceReply } from './exchange.js';

/** Gives each HTTP request its deadline and reports what became of it. */
export class TimedExchanges {
  constructor(
    readonly timeoutMs: number,
    private readonly onCall?: (call: CloudCall) => void,
  ) {}

  /** @throws the reason of the caller's signal when that aborts, or the caller's objection; nothing else */
  async run(
    operation: Operation,
    caller: Caller | undefined,
    send: (end: CallEnd) => Promise<Exchange>,
  ): Promise<Exchange> {
    const startedMs = realNowMs();
    let status: CloudCall['status'] = 'aborted';
    let callEnd: CallEnd | undefined;
    try {
      const sent = await withTimeout(this.timeoutMs, caller, (end) => send((callEnd = end)));
      const exchange = sent === TIMED_OUT ? this.tooLate(callEnd?.arrived) : sent;
      status = exchange.kind === 'reply' ? exchange.status : exchange.code;
      return exchange;
    } finally {
      this.onCall?.({ operation, status, durationMs: realNowMs() - startedMs });
    }
  }

  /** What the status says counts although the body hangs: to a command it is the whole answer. */
  private tooLate(arrived: ServiceReply | undefined): Exchange {
    if (arrived === undefined) {
      const cause = { message: `no answer in ${this.timeoutMs} ms` };
      return { kind: 'failed', code: 'timeout', cause };
    }
    const cause = { message: `no whole answer in ${this.timeoutMs} ms` };
    return { ...arrived, body: '', bodyFault: { code: 'timeout', cause } };
  }
}

export const TIMED_OUT = Symbol('timed out');

/** The end of one call: what a request needs of an AbortSignal, which itself costs as much as the request. */
export class CallEnd {
  /** The answer as far as it is there, once its status is: the end may come before the rest of it does. */
  arrived: ServiceReply | undefined;
  private hasCome = false;
  private abort: (() => void) | undefined;
  private objected: Error | undefined;

  constructor(private readonly objection: Caller['objection']) {}

  /** Of a request that is made again on another connection, the last attempt counts. */
  whenItComes(abort: () => void): void {
    this.abort = abort;
  }

  /** Asks the caller; to be called right before the request is written. */
  maySend(): boolean {
    if (!this.hasCome) this.objected = this.objection?.();
    return !this.hasCome && this.objected === undefined;
  }

  /** Why the request was not sent; undefined when its caller had no objection. */
  get whyNotSent(): Error | undefined {
    return this.objected;
  }

  come(): void {
    this.hasCome = true;
    this.abort?.();
  }
}

/**
 * Tells `work` when the caller's signal aborts or `timeoutMs` have passed, and does not wait for work
 * that ignores it (a request queued behind a connection that is still opening does).
 *
 * @throws the reason of the caller's signal once that is aborted, or the caller's objection, whatever
 *   `work` came to
 */
export function withTimeout<T>(
  timeoutMs: number,
  caller: Caller | undefined,
  work: (end: CallEnd) => Promise<T>,
): Promise<T | typeof TIMED_OUT> {
  const signal = caller?.signal;
  if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
  return new Promise((resolve, reject) => {
    const end = new CallEnd(caller?.objection);
    const settle = (result: T | typeof TIMED_OUT): void => {
      leave();
      if (signal?.aborted === true) reject(signal.reason as Error);
      else if (end.whyNotSent !== undefined) reject(end.whyNotSent);
      else resolve(result);
    };
    const giveUp = (): void => {
      settle(TIMED_OUT);
      end.come();
    };
    const stopTimer = afterRealMs(timeoutMs, giveUp);
    const stopWatching = signal && onAbort(signal, giveUp);
    const leave = (): void => {
      stopTimer();
      stopWatching?.();
    };
    work(end).then(settle, (error: unknown) => {
      leave();
      reject(error instanceof Error ? error : new Error(String(error)));
    });
  });
}
