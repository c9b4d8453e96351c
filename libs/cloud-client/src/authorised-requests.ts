import { Clock, realEpochMs } from '#libs/clock';
import type { ProxySettings, TokenSettings } from '#libs/config';
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
  type HttpCaller,
  type HttpAnswer,
  type HttpCall,
  HttpError,
  type HeaderList,
  type HttpRequest,
  HttpTransport,
  parseHttpDate,
  type SuccessMeaning,
  toAnswer,
} from '#libs/http-calls';
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

/** Operations of which many calls wait: one for each machine. */
const POLLS: ReadonlySet<ServiceOperation> = new Set(['getMachineState', 'getMachineActivityLog']);

export interface Caller extends HttpCaller {
  /** The call has waited for its turn under the rate limit already. */
  readonly hasTurn?: boolean;
  readonly causes?: readonly Span[];
}

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

export interface CloudClientOptions {
  /** Without `/api/v1`. */
  baseUrl: string;
  token: TokenSettings;
  /** How the service wants the reason named in setMachineClassification; default `reasonId`. */
  reasonField?: 'reasonId' | 'reason';
  /** Spelling of the machine list's path to begin with; default `mahcineInfo`. */
  machineInfoPath?: string;
  /** Real milliseconds for a request, a login too, from sending it to the end of the body; default 10000. */
  timeoutMs?: number;
  /** Default 64; a login has one of its own. */
  maxConnections?: number;
  /** For all requests to the service together; default no limit. */
  maxRequestsPerSecond?: number | undefined;
  /** For calls to the service and requests for tokens, unless they go by plain http; default none. */
  proxy?: ProxySettings | undefined;
  /** Ours, with which the service's is compared; default real time. */
  clock?: Clock;
  /** Called after every HTTP request; must not throw. */
  onCall?: (call: HttpCall) => void;
  /** Default none. */
  tracing?: Tracing;
}

/** Many calls are under way together: a hundred answers without an end must not take gigabytes. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/**
 * Authorised requests and their answers; each is made again, once, when its token was refused and there is another.
 * Nothing is sent before the first call.
 */
export class AuthorisedRequests {
  /** The rate limit; undefined where there is none. */
  readonly pace: RequestPace | undefined;
  private readonly serviceClock = new ServiceClock();
  private readonly basePath: string;
  private readonly timeoutMs: number;
  private readonly transport: HttpTransport;
  private readonly tokens: TokenSource;
  private readonly clock: Clock;
  private readonly tracing: Tracing;
  /** Headers with the token that was used last: made once, not for every call. */
  private headers = headersWith('');

  constructor({ baseUrl, token, proxy, onCall, ...options }: CloudClientOptions) {
    const { maxRequestsPerSecond: rate, timeoutMs = 10_000, maxConnections = 64 } = options;
    const { origin, pathname } = new URL(baseUrl);
    const pace = rate === undefined ? undefined : new RequestPace(rate);
    this.pace = pace;
    // below whatever path the base URL has
    this.basePath = `${pathname.replace(/\/+$/, '')}/api/v1`;
    this.timeoutMs = timeoutMs;
    const surroundings = { timeoutMs, proxy, onCall };
    const maxAnswerBytes = MAX_ANSWER_BYTES;
    this.transport = new HttpTransport({ ...surroundings, origin, maxConnections, maxAnswerBytes });
    this.tokens = openServiceTokens(token, {
      ...surroundings,
      login: new URL(`${this.basePath}/security/getAPIToken`, baseUrl),
      ...(pace && { turn: () => pace.awaitTurnAhead() }),
    });
    this.clock = options.clock ?? new Clock();
    this.tracing = options.tracing ?? NO_TRACING;
  }

  /** @throws the reason of the caller's signal when that aborts, or the caller's objection; nothing else */
  async call<T>(
    request: ServiceRequest,
    meaning: SuccessMeaning<T>,
    caller: Caller,
  ): Promise<HttpAnswer<T>> {
    const { signal } = caller;
    const { tokens, pace, timeoutMs } = this;
    return callWithToken<HttpAnswer<T>>({
      tokens,
      timeoutMs,
      signal,
      turn:
        pace &&
        (async (isAgain) => {
          if (!isAgain && caller.hasTurn === true) return;
          await pace.awaitTurn(POLLS.has(request.operation) ? 'poll' : 'lookUp', signal);
        }),
      send: (token) => this.send(request, token, meaning, caller),
      without: (reason) => withoutToken(request.operation, reason),
    });
  }

  get clockOffset(): ClockOffset | undefined {
    return this.serviceClock.offset(this.clock.nowMs());
  }

  /** Waits for requests in flight and gives up a login that is. */
  async close(): Promise<void> {
    await Promise.all([this.transport.close(), this.tokens.close()]);
  }

  private async send<T>(
    request: ServiceRequest,
    token: string,
    meaning: SuccessMeaning<T>,
    caller: Caller,
  ): Promise<HttpAnswer<T>> {
    const { clock } = this;
    const { operation, method } = request;
    const route = `${this.basePath}/${request.path}`;
    const path = `${route}${queryOf(request)}`;
    const { causes = [] } = caller;
    const span = this.tracing.requestStarts({ operation, method, route, path }, causes);
    const http = this.authorised(request, path, token, span.context);
    const sentMs = clock.nowMs();
    const exchange = await this.transport.exchange(http, caller, span);
    if (exchange.kind === 'reply' && isDatedBy(clock, exchange.headers.date))
      this.serviceClock.observe(exchange.headers.date, sentMs, clock.nowMs());
    return toAnswer(operation, exchange, meaning, realEpochMs());
  }

  /** With its token as Bearer (interface: "Authentication"). */
  private authorised(
    { operation, method, body, maxAnswerBytes }: ServiceRequest,
    path: string,
    token: string,
    context: TraceContext | undefined,
  ): HttpRequest {
    if (this.headers.token !== token) this.headers = headersWith(token);
    const { plain, json } = this.headers;
    const common = body === undefined ? plain : json;
    const headers =
      context === undefined ? common : [...common, ...Object.entries(traceHeaders(context)).flat()];
    const text = body ? JSON.stringify(body) : null;
    return { operation, path, method, headers, body: text, token, maxAnswerBytes };
  }
}

/** Before it has run ahead by so much, an accelerated clock cannot be told from that of a service that is half as far off. */
const CLOCKS_APART_MS = 60_000;

/**
 * Whether an answer's `Date` follows the clock. Beside an accelerated one (`CLOCK_SPEED`) the sandbox's does; a service that
 * dates by the real time says nothing of the plant's: compared with it, each reason would be postponed until then.
 */
function isDatedBy(clock: Clock, date = ''): boolean {
  const [nowMs, realMs] = [clock.nowMs(), realEpochMs()];
  if (Math.abs(nowMs - realMs) < CLOCKS_APART_MS) return true;
  const dateMs = parseHttpDate(date);
  return dateMs === null || Math.abs(dateMs - nowMs) <= Math.abs(dateMs - realMs);
}

/** The answer of a call that was not made. Nothing reached the service, as after a network failure. */
function withoutToken(operation: ServiceOperation, reason: NoToken): HttpAnswer<never> {
  if (reason.kind === 'refused') return { kind: 'unauthorised', status: 401, why: reason.why };
  const error = new HttpError('network', operation, `no access token: ${reason.why}`);
  return { kind: 'retry', afterMs: reason.afterMs, error };
}

function queryOf({ machineId }: ServiceRequest): string {
  if (machineId === undefined) return '';
  // unlike encodeURIComponent this takes any string; a space as %20 is read alike by every server
  const query = new URLSearchParams({ machineId }).toString();
  return `?${query.replaceAll('+', '%20')}`;
}

function headersWith(token: string): { token: string; plain: HeaderList; json: HeaderList } {
  const plain = [...ASKED_FOR, 'Authorization', `Bearer ${token}`];
  return { token, plain, json: [...plain, 'Content-Type', 'application/json'] };
}
