import { type CloudErrorCause } from './cloud-error.js';
import { type ServiceOperation } from './operations.js';

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
