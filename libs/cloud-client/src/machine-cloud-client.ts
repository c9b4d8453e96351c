import { type Clock, realEpochMs } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import type { DowntimeReason } from '#libs/contracts';
import {
  NO_TRACING,
  type Span,
  type TraceContext,
  traceHeaders,
  type Tracing,
} from '#libs/tracing';
import {
  callWithToken,
  type NoToken,
  openServiceTokens,
  type TokenSource,
} from '#libs/access-tokens';
import {
  applied,
  ASKED_FOR,
  bodyRead,
  type CallDurations,
  type HeaderList,
  type HttpAnswer,
  type HttpCaller,
  HttpError,
  type HttpRequest,
  HttpTransport,
  listRead,
  parseHttpDate,
  RememberedForm,
  type SuccessMeaning,
  toAnswer,
} from '#libs/http-calls';
import {
  type ActivityLogEntry,
  type ClassificationReason,
  type MachineInfo,
  type MachineStateReading,
  parseActivityLog,
  parseClassificationReasons,
  parseMachineInfo,
  parseMachineState,
} from './parse-answers.js';
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

/** Operations with many waiting calls, one for each machine. */
const POLLS: ReadonlySet<ServiceOperation> = new Set(['getMachineState', 'getMachineActivityLog']);

export interface Caller extends HttpCaller {
  /** Whether the call has already waited for its turn under the rate limit. */
  readonly hasTurn?: boolean;
  readonly causes?: readonly Span[];
}

interface ServiceRequest {
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

/** The settings of the service, and what a program adds to them. */
export interface CloudClientOptions extends Omit<BridgeSettings['machineCloud'], 'maxConcurrency'> {
  /** Besides the one for logins. */
  maxConnections: number;
  /** Our clock, with which the service's is compared. */
  clock: Clock;
  /** Default none. */
  durations?: CallDurations;
  /** Default none. */
  tracing?: Tracing;
}

/** Epoch seconds; at most 30 days apart, or the service answers 422. */
interface ActivityLogQuery {
  machineId: string;
  startTime: number;
  endTime: number;
}

/** Interface: "Work order assignment"; replaces the list of the machine, in the order given. */
interface WorkOrderListAssignment {
  machineId: string;
  workingOrders: readonly string[];
}

/** Spellings of the operation table and of its sample, and the correct one. */
const MACHINE_INFO_PATHS = ['mahcineInfo', 'MahcineInfo', 'machineInfo'];

const MIB = 1024 * 1024;
/** Limit of most answers: a hundred concurrent calls with endless answers must not take gigabytes. */
const MAX_ANSWER_BYTES = MIB;
/** 100,000 machines are 15 MB; one such list is read at a time. */
const MAX_MACHINE_INFO_BYTES = 32 * MIB;
/** 30 days of a machine that changes state every minute are 5 MB. */
const MAX_ACTIVITY_LOG_BYTES = 8 * MIB;
const MAX_REASONS_BYTES = 4 * MIB;
const METHOD_UNKNOWN: readonly (number | undefined)[] = [405, 501];
const NOBODY: Caller = { signal: undefined };
const machineInfo = listRead(parseMachineInfo);
const machineState = bodyRead(parseMachineState);
const activityLog = listRead(parseActivityLog);
const classificationReasons = listRead(parseClassificationReasons);

/**
 * The six operations of the Machine Data Service (interface: "Endpoints"). Each makes one attempt, and a second one
 * with another token if the first was refused; retries are up to the caller. A call rejects with nothing but the
 * reason of its aborted `signal`, or its caller's objection before it is sent.
 */
export class MachineCloudClient {
  /** Turns for callers that choose what to send when their turn has come; undefined without a rate limit. */
  readonly turns: RequestPace | undefined;
  private readonly serviceClock = new ServiceClock();
  private readonly basePath: string;
  private readonly timeoutMs: number;
  private readonly transport: HttpTransport;
  private readonly tokens: TokenSource;
  private readonly clock: Clock;
  private readonly tracing: Tracing;
  /** Headers with the latest token, made once instead of for every call. */
  private headers = headersWith('');
  private readonly reasonField: 'reasonId' | 'reason';
  private readonly machineInfoPath: RememberedForm<string>;
  private readonly reasonListMethod: RememberedForm<'GET' | 'POST'>;
  /** Whether the method has worked: a 404 is about the machine then (interface: "Errors"). */
  private hasReadReasons = false;

  constructor({ baseUrl, token, proxy, durations, timeoutMs, ...options }: CloudClientOptions) {
    const { maxRequestsPerSecond: rate, maxConnections } = options;
    const { origin, pathname } = new URL(baseUrl);
    const turns = rate === undefined ? undefined : new RequestPace(rate);
    this.turns = turns;
    // below whatever path the base URL has
    this.basePath = `${pathname.replace(/\/+$/, '')}/api/v1`;
    this.timeoutMs = timeoutMs;
    const surroundings = { timeoutMs, proxy, durations };
    const bounds = { maxConnections, maxAnswerBytes: MAX_ANSWER_BYTES };
    this.transport = new HttpTransport({ ...surroundings, ...bounds, origin });
    this.tokens = openServiceTokens(token, {
      ...surroundings,
      login: new URL(`${this.basePath}/security/getAPIToken`, baseUrl),
      ...(turns && { turn: () => turns.awaitTurnAhead() }),
    });
    this.clock = options.clock;
    this.tracing = options.tracing ?? NO_TRACING;
    this.reasonField = options.reasonField;
    const configuredPath = options.machineInfoPath.replace(/^\/+/, '');
    this.machineInfoPath = new RememberedForm([configuredPath, ...MACHINE_INFO_PATHS], isNotFound);
    this.reasonListMethod = new RememberedForm(['GET', 'POST'], isMethodUnknown);
  }

  getMachineInfo(signal?: AbortSignal): Promise<HttpAnswer<MachineInfo[]>> {
    const request = { operation: 'getMachineInfo', method: 'GET' } as const;
    const maxAnswerBytes = MAX_MACHINE_INFO_BYTES;
    return this.machineInfoPath.callWithForm((path) =>
      this.call({ ...request, path, maxAnswerBytes }, machineInfo, { signal }),
    );
  }

  getMachineState(
    machineId: string,
    caller: Caller = NOBODY,
  ): Promise<HttpAnswer<MachineStateReading>> {
    const request = { operation: 'getMachineState', method: 'GET', path: 'machineState' } as const;
    return this.call({ ...request, machineId }, machineState, caller);
  }

  /** Interface: MachineActivityLog. */
  getMachineActivityLog(
    body: ActivityLogQuery,
    caller: Caller = NOBODY,
  ): Promise<HttpAnswer<ActivityLogEntry[]>> {
    const operation = 'getMachineActivityLog';
    const request = { operation, method: 'POST', path: 'machineActivity', body } as const;
    const maxAnswerBytes = MAX_ACTIVITY_LOG_BYTES;
    return this.call({ ...request, maxAnswerBytes }, activityLog, caller);
  }

  /** Interface: MachineClassification, by GET or, if that is refused, by the sample's empty POST. */
  async getClassificationReasons(
    machineId: string,
    signal?: AbortSignal,
  ): Promise<HttpAnswer<ClassificationReason[]>> {
    const operation = 'getClassificationReasons';
    // the plural: a POST to the singular path would set a classification
    const path = 'machineClassifications';
    const request = { operation, path, machineId, maxAnswerBytes: MAX_REASONS_BYTES } as const;
    const methods = this.reasonListMethod;
    const readBy = (method: 'GET' | 'POST') => {
      const body = method === 'POST' ? { body: null } : {};
      return this.call({ ...request, method, ...body }, classificationReasons, { signal });
    };
    let answer = await methods.callWithForm(readBy);
    // many servers answer 404 to a method that they do not support, too
    if (isNotFound(answer) && methods.expectedForm === 'GET' && !this.hasReadReasons) {
      const posted = await readBy('POST');
      if (hasRead(posted)) {
        methods.expectForm('POST');
        answer = posted;
      }
    }
    this.hasReadReasons ||= hasRead(answer);
    return answer.kind === 'data' && answer.data.length === 0 ? { kind: 'noData' } : answer;
  }

  /** Interface: setMachineClassification ("Classification setting"). */
  setMachineClassification(
    { machineId, startTime, endTime, reasonId }: DowntimeReason,
    caller: Caller = NOBODY,
  ): Promise<HttpAnswer<null>> {
    const end = endTime === undefined ? {} : { endTime };
    return this.classify({ machineId, startTime, ...end, [this.reasonField]: reasonId }, caller);
  }

  /** Interface: setMachineClassification without a machine. Sets nothing; a 422 shows that the path is right. */
  setNoMachineClassification(caller: Caller = NOBODY): Promise<HttpAnswer<null>> {
    return this.classify({ machineId: '', [this.reasonField]: '' }, caller);
  }

  private classify(body: object, caller: Caller): Promise<HttpAnswer<null>> {
    const operation = 'setMachineClassification';
    const request = { operation, method: 'POST', path: 'machineClassification', body } as const;
    return this.call(request, applied, caller);
  }

  /** Interface: setWorkOrderList; several machines in one request, or none. */
  setWorkOrderList(
    lists: readonly WorkOrderListAssignment[],
    caller: Caller = NOBODY,
  ): Promise<HttpAnswer<null>> {
    const machines = lists.map(({ machineId, workingOrders }) => ({ machineId, workingOrders }));
    const request = { operation: 'setWorkOrderList', method: 'PUT', body: { machines } } as const;
    return this.call({ ...request, path: 'workOrderList' }, applied, caller);
  }

  /** How far the service's clock is ahead of ours, by its latest answers; undefined while none had a usable `Date`. */
  get clockOffset(): ClockOffset | undefined {
    return this.serviceClock.offsetAt(this.clock.nowMs());
  }

  /** Waits for calls under way (each has its deadline), then closes every connection; gives up a login. */
  async closeConnections(): Promise<void> {
    await Promise.all([this.transport.drainConnections(), this.tokens.closeTokenSource()]);
  }

  private call<T>(
    request: ServiceRequest,
    meaning: SuccessMeaning<T>,
    caller: Caller,
  ): Promise<HttpAnswer<T>> {
    const { signal } = caller;
    const { tokens, turns, timeoutMs } = this;
    return callWithToken<HttpAnswer<T>>({
      tokens,
      timeoutMs,
      signal,
      turn:
        turns &&
        (async (isAgain) => {
          if (!isAgain && caller.hasTurn === true) return;
          await turns.awaitTurn(POLLS.has(request.operation) ? 'poll' : 'lookUp', signal);
        }),
      send: (token) => this.send(request, token, meaning, caller),
      without: (reason) => withoutToken(request.operation, reason),
    });
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
    const answeredMs = clock.nowMs();
    const answer = toAnswer(operation, exchange, meaning, realEpochMs());
    if (exchange.kind === 'reply' && isDatedBy(clock, exchange.headers.date))
      this.serviceClock.observeDate(exchange.headers.date, sentMs, answeredMs);
    return answer;
  }

  /** Builds the HTTP request with its token as Bearer (interface: "Authentication"). */
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

/** With a smaller lead over real time, an accelerated clock fits the `Date` of a service that is half as far off. */
const CLOCKS_APART_MS = 60_000;

/**
 * Whether an answer's `Date` follows our clock. If that is accelerated (`CLOCK_SPEED`), the sandbox's does; that of a
 * service in real time must not be compared with it, or every reason would be postponed.
 */
function isDatedBy(clock: Clock, date = ''): boolean {
  const [nowMs, realMs] = [clock.nowMs(), realEpochMs()];
  if (Math.abs(nowMs - realMs) < CLOCKS_APART_MS) return true;
  const dateMs = parseHttpDate(date);
  return dateMs === null || Math.abs(dateMs - nowMs) <= Math.abs(dateMs - realMs);
}

/** Answer of a call without a token: nothing reached the service, as after a network failure. */
function withoutToken(operation: ServiceOperation, reason: NoToken): HttpAnswer<never> {
  if (reason.kind === 'refused') return { kind: 'unauthorised', status: 401, why: reason.why };
  const error = new HttpError('network', operation, `no access token: ${reason.why}`);
  return { kind: 'retry', afterMs: reason.afterMs, error };
}

function queryOf({ machineId }: ServiceRequest): string {
  if (machineId === undefined) return '';
  // unlike encodeURIComponent this accepts any string; every server reads %20 as a space
  const query = new URLSearchParams({ machineId }).toString();
  return `?${query.replaceAll('+', '%20')}`;
}

function headersWith(token: string): { token: string; plain: HeaderList; json: HeaderList } {
  const plain = [...ASKED_FOR, 'Authorization', `Bearer ${token}`];
  return { token, plain, json: [...plain, 'Content-Type', 'application/json'] };
}

function isNotFound(answer: HttpAnswer<unknown>): boolean {
  return answer.kind === 'rejected' && answer.status === 404;
}

function hasRead(answer: HttpAnswer<unknown>): boolean {
  return answer.kind === 'data' || answer.kind === 'noData';
}

function isMethodUnknown(answer: HttpAnswer<unknown>): boolean {
  return answer.kind === 'retry' && METHOD_UNKNOWN.includes(answer.error.status);
}
