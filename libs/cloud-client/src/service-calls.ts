import { Clock, realEpochMs } from '#libs/clock';
import {
  NO_TRACING,
  type Span,
  type TraceContext,
  traceHeaders,
  type Tracing,
} from '#libs/tracing';
import {
  callWithToken,
  openServiceTokens,
  type NoToken,
  type TokenSource,
} from '#libs/access-tokens';
import {
  ASKED_FOR,
  type Caller as HttpCaller,
  type CloudAnswer,
  CloudError,
  type HeaderList,
  type HttpRequest,
  HttpTransport,
  parseHttpDate,
  type SuccessMeaning,
  TimedExchanges,
  toAnswer,
} from '#libs/http-calls';
import type { CloudClientOptions } from './cloud-client-options.js';
import { RequestPace } from './request-pace.js';
import { type ClockOffset, ServiceClock } from './service-clock.js';

/** The six operations of the Machine Data Service, by the names the bridge logs and counts them under. */
type ServiceOperation =
  | 'getMachineInfo'
  | 'getMachineState'
  | 'getMachineActivityLog'
  | 'getClassificationReasons'
  | 'setMachineClassification'
  | 'setWorkOrderList';

/** Who makes a call, and what for. */
export interface Caller extends HttpCaller {
  /** The call has waited for its turn under the rate limit already. */
  readonly hasTurn?: boolean;
  /** In traces. */
  readonly causes?: readonly Span[];
}

/** One operation of the service, called. */
export interface ServiceRequest {
  operation: ServiceOperation;
  method: 'GET' | 'POST' | 'PUT';
  /** Below `/api/v1/`. */
  path: string;
  machineId?: string;
  /** Sent as JSON; `null` is an empty body that still carries the JSON content type. */
  body?: object | null;
  /** A larger answer is not read to its end; default 1 MiB. */
  maxAnswerBytes?: number;
}

/** Many calls are under way together: a hundred answers without an end must not take gigabytes. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/** Wires token, rate limit, deadline and transport together; nothing is sent before the first call. */
export function openServiceCalls(options: CloudClientOptions): ServiceCalls {
  const { baseUrl, token, onCall, maxRequestsPerSecond } = options;
  const { timeoutMs = 10_000, maxConnections = 64, clock = new Clock() } = options;
  const { tracing = NO_TRACING, proxy } = options;
  const exchanges = new TimedExchanges(timeoutMs, onCall);
  const pace =
    maxRequestsPerSecond === undefined ? undefined : new RequestPace(maxRequestsPerSecond);
  return new ServiceCalls({
    requests: new AuthorisedRequests(apiPath(baseUrl)),
    transport: new HttpTransport({
      origin: new URL(baseUrl).origin,
      maxConnections,
      timeoutMs,
      maxAnswerBytes: MAX_ANSWER_BYTES,
      proxy,
    }),
    exchanges,
    tokens: openServiceTokens(token, {
      login: new URL(`${apiPath(baseUrl)}/security/getAPIToken`, baseUrl),
      exchanges,
      proxy,
      ...(pace && { turn: () => pace.awaitTurnAhead() }),
    }),
    pace,
    clock,
    tracing,
  });
}

interface ServiceCallsOptions {
  requests: AuthorisedRequests;
  transport: HttpTransport;
  exchanges: TimedExchanges;
  tokens: TokenSource;
  pace: RequestPace | undefined;
  /** Ours, with which the service's is compared. */
  clock: Clock;
  tracing: Tracing;
}

/** One authorised request and its answer; made again, once, when its token was refused and there is another. */
export class ServiceCalls {
  private readonly serviceClock = new ServiceClock();

  constructor(private readonly options: ServiceCallsOptions) {}

  /** @throws the reason of the caller's signal when that aborts, or the caller's objection; nothing else */
  async call<T>(
    request: ServiceRequest,
    meaning: SuccessMeaning<T>,
    caller: Caller,
  ): Promise<CloudAnswer<T>> {
    const { signal } = caller;
    const { tokens, pace, exchanges } = this.options;
    return callWithToken<CloudAnswer<T>>({
      tokens,
      timeoutMs: exchanges.timeoutMs,
      signal,
      turn:
        pace &&
        (async (isAgain) => {
          if (isAgain || caller.hasTurn !== true) await pace.awaitTurn(signal);
        }),
      send: (token) => this.send(request, token, meaning, caller),
      without: (reason) => withoutToken(request.operation, reason),
    });
  }

  /** The rate limit; undefined where there is none. */
  get pace(): RequestPace | undefined {
    return this.options.pace;
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
    const { requests, transport, exchanges, clock, tracing } = this.options;
    const { operation, method } = request;
    const { causes = [] } = caller;
    const route = `${requests.basePath}/${request.path}`;
    const path = `${route}${queryOf(request)}`;
    const span = tracing.requestStarts({ operation, method, route, path }, causes);
    const http = requests.of(request, path, token, span.context);
    const sentMs = clock.nowMs();
    const exchange = await exchanges.run(
      operation,
      caller,
      (end) => transport.send(http, end),
      span,
    );
    if (exchange.kind === 'reply' && isDatedBy(clock, exchange.headers.date))
      this.serviceClock.observe(exchange.headers.date, sentMs, clock.nowMs());
    return toAnswer(request.operation, exchange, meaning, realEpochMs());
  }
}

/** Before it has run ahead by so much, an accelerated clock cannot be told from that of a service that is half as far off. */
const CLOCKS_APART_MS = 60_000;

/**
 * Whether an answer's `Date` follows the clock. Beside an accelerated one (`CLOCK_SPEED`) the sandbox's does; a service that
 * dates by the real time says nothing of the plant's: compared with it, each reason would be held until that has come.
 */
function isDatedBy(clock: Clock, date = ''): boolean {
  const [nowMs, realMs] = [clock.nowMs(), realEpochMs()];
  if (Math.abs(nowMs - realMs) < CLOCKS_APART_MS) return true;
  const dateMs = parseHttpDate(date);
  return dateMs === null || Math.abs(dateMs - nowMs) <= Math.abs(dateMs - realMs);
}

/** The service's path prefix, below whatever path the base URL has. */
function apiPath(baseUrl: string): string {
  return `${new URL(baseUrl).pathname.replace(/\/+$/, '')}/api/v1`;
}

/** The answer of a call that was not made. Nothing reached the service, as after a network failure. */
function withoutToken(operation: ServiceOperation, reason: NoToken): CloudAnswer<never> {
  if (reason.kind === 'refused') return { kind: 'unauthorised', status: 401, why: reason.why };
  const message = `no access token: ${reason.why}`;
  const cause = { code: 'NO_TOKEN', message };
  const error = new CloudError('network', operation, message, { cause });
  return { kind: 'retry', afterMs: reason.afterMs, error };
}

interface OfToken {
  token: string;
  plain: HeaderList;
  json: HeaderList;
}

/** How an operation is sent: with its token as Bearer (interface: "Authentication"). */
class AuthorisedRequests {
  /** Of the token that was used last: made once, not for every call. */
  private ofToken = ofToken('');

  /** @param basePath of the service, with `/api/v1` */
  constructor(readonly basePath: string) {}

  of(
    { method, body, maxAnswerBytes }: ServiceRequest,
    path: string,
    token: string,
    context: TraceContext | undefined,
  ): HttpRequest {
    if (this.ofToken.token !== token) this.ofToken = ofToken(token);
    const { plain, json } = this.ofToken;
    const common = body === undefined ? plain : json;
    const headers =
      context === undefined ? common : [...common, ...Object.entries(traceHeaders(context)).flat()];
    const text = body ? JSON.stringify(body) : null;
    return { path, method, headers, body: text, token, maxAnswerBytes };
  }
}

function queryOf({ machineId }: ServiceRequest): string {
  if (machineId === undefined) return '';
  // unlike encodeURIComponent this takes any string; a space as %20 is read alike by every server
  const query = new URLSearchParams({ machineId }).toString();
  return `?${query.replaceAll('+', '%20')}`;
}

function ofToken(token: string): OfToken {
  const plain = [...ASKED_FOR, 'Authorization', `Bearer ${token}`];
  const json = [...plain, 'Content-Type', 'application/json'];
  return { token, plain, json };
}
