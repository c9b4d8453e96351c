import { type Clock, realEpochMs } from '#libs/clock';
import { type AuthorisedRequests } from './authorised-request.js';
import { type Caller } from './caller.js';
import { type CloudAnswer } from './cloud-answer.js';
import { TIMED_OUT, withTimeout } from './timeout.js';
import { type ServiceRequest } from './exchange.js';
import { type HttpTransport } from './http-transport.js';
import { type RequestPace } from './request-pace.js';
import { type ClockOffset, ServiceClock } from './service-clock.js';
import { type TimedExchanges } from './timed-exchanges.js';
import { toAnswer, type SuccessMeaning, withoutToken } from './to-answer.js';
import { type NoToken, type TokenSource } from './token/token-source.js';

export interface ServiceCallsOptions {
  requests: AuthorisedRequests;
  transport: HttpTransport;
  exchanges: TimedExchanges;
  tokens: TokenSource;
  pace: RequestPace | undefined;
  /** Ours, with which the service's is compared: with `CLOCK_SPEED` both are accelerated. */
  clock: Clock;
}

/** One authorised request and its answer; made again, once, when its token was refused and there is another. */
export class ServiceCalls {
  /** A way to a token takes two requests at most, each with its own deadline. */
  private readonly tokenDeadlineMs: number;
  private readonly serviceClock = new ServiceClock();

  constructor(private readonly options: ServiceCallsOptions) {
    this.tokenDeadlineMs = 2 * options.exchanges.timeoutMs;
  }

  /** @throws the reason of the caller's signal when that aborts, or the caller's objection; nothing else */
  async call<T>(
    request: ServiceRequest,
    meaning: SuccessMeaning<T>,
    caller: Caller,
  ): Promise<CloudAnswer<T>> {
    const { signal } = caller;
    const { tokens, pace } = this.options;
    signal?.throwIfAborted();
    let token = tokens.current() ?? (await this.obtain(caller));
    if (typeof token !== 'string') return withoutToken(request.operation, token);
    if (pace !== undefined) {
      await pace.turn(signal);
      // it may have been renewed meanwhile
      token = tokens.current() ?? token;
    }
    const answer = await this.send(request, token, meaning, caller);
    if (answer.kind !== 'unauthorised') return answer;
    const other = await this.replace(token, answer.status, caller);
    if (other === null) return answer;
    if (typeof other !== 'string') return withoutToken(request.operation, other);
    await pace?.turn(signal);
    return this.send(request, other, meaning, caller);
  }

  /** See {@link ServiceClock}. */
  get clockOffset(): ClockOffset | undefined {
    return this.serviceClock.offset(this.options.clock.nowMs());
  }

  /** Waits for requests in flight and gives up a login that is. */
  async close(): Promise<void> {
    const { transport, tokens } = this.options;
    await Promise.all([transport.close(), tokens.close()]);
  }

  private async send<T>(
    request: ServiceRequest,
    token: string,
    meaning: SuccessMeaning<T>,
    caller: Caller,
  ): Promise<CloudAnswer<T>> {
    const { requests, transport, exchanges, clock } = this.options;
    const sentMs = clock.nowMs();
    const exchange = await exchanges.run(request.operation, caller, (end) =>
      transport.send(requests.of(request, token), end),
    );
    if (exchange.kind === 'reply')
      this.serviceClock.observe(exchange.headers.date, sentMs, clock.nowMs());
    return toAnswer(request.operation, exchange, meaning, realEpochMs());
  }

  private async obtain({ signal }: Caller): Promise<string | NoToken> {
    const answer = await this.inTime(signal, () => this.options.tokens.obtain());
    return answer.kind === 'token' ? answer.token : answer;
  }

  private async replace(
    refused: string,
    status: 401 | 403,
    { signal }: Caller,
  ): Promise<string | NoToken | null> {
    const answer = await this.inTime(signal, () => this.options.tokens.replace(refused, status));
    if (answer?.kind === 'token') return answer.token;
    // a 403 says something of the request, even while no other token can be had
    return status === 403 ? null : answer;
  }

  /** A caller that gives up leaves the renewal to the others. */
  private async inTime<A>(
    signal: AbortSignal | undefined,
    work: () => Promise<A>,
  ): Promise<A | NoToken> {
    const answer = await withTimeout(this.tokenDeadlineMs, { signal }, work);
    if (answer !== TIMED_OUT) return answer;
    return { kind: 'unavailable', why: `none in ${this.tokenDeadlineMs} ms`, afterMs: null };
  }
}
