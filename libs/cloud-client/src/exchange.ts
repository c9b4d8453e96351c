/** The six operations of the Machine Data Service, by the names the bridge logs and counts them under. */
type ServiceOperation =
  | 'getMachineInfo'
  | 'getMachineState'
  | 'getMachineActivityLog'
  | 'getClassificationReasons'
  | 'setMachineClassification'
  | 'setWorkOrderList';

/** Requests for an access token: the service's login, and the token endpoint of an OAuth 2.0 server. */
export type TokenOperation = 'getAPIToken' | 'getOAuthToken';

export type Operation = ServiceOperation | TokenOperation;

/** On whose behalf a call is made. */
export interface Caller {
  /** Aborts when nothing is to come of the call any more; the call rejects with its reason. */
  readonly signal: AbortSignal | undefined;
  /**
   * Asked right before anything is written to the service, however long the request has waited for its
   * turn, a token or a connection: a process may have been suspended meanwhile. A request that is
   * objected to is not sent, and the call rejects with the objection. Without it test/chaos/group.chaos-spec.ts fails: a
   * process that was suspended while connections were opening sends what waited for them.
   */
  readonly objection?: () => Error | undefined;
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
}

/** The service's path prefix, below whatever path the base URL has. */
export function apiPath(baseUrl: string): string {
  return `${new URL(baseUrl).pathname.replace(/\/+$/, '')}/api/v1`;
}

/** Names and values in turn, as undici takes them. */
export type HeaderList = string[];

/** What each request asks for beside what is its own. */
export const ASKED_FOR: Readonly<HeaderList> = [
  ...['accept', 'application/json'],
  ...['accept-encoding', 'identity'],
];

/** One HTTP request as it is sent. */
export interface HttpRequest {
  method: 'GET' | 'POST' | 'PUT';
  /** From the root of the host, with its query. */
  path: string;
  headers: HeaderList;
  body: string | null;
  /** Taken out of an error body that echoes it. */
  token?: string;
}

/** What is kept of the underlying failure: an HTTP library's own error carries the request's headers. */
export interface CloudErrorCause {
  code?: string;
  message: string;
}

export interface ServiceReply {
  kind: 'reply';
  status: number;
  headers: { retryAfter?: string | undefined; date?: string | undefined };
  /** Empty when `bodyFault` is set. */
  body: string;
  /** The status arrived but the body did not: the connection broke, time was up, or it was larger than allowed. */
  bodyFault?: { code: 'network' | 'timeout' | 'malformed-answer'; cause: CloudErrorCause };
}

/** What became of one HTTP request. */
export type Exchange =
  ServiceReply | { kind: 'failed'; code: 'timeout' | 'network'; cause: CloudErrorCause };
