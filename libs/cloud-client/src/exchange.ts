import { type CloudErrorCause } from './cloud-error.js';
import { type Operation } from './operations.js';

/** One HTTP request to the service. */
export interface ServiceRequest {
  operation: Operation;
  method: 'GET' | 'POST' | 'PUT';
  /** Below `/api/v1/`. */
  path: string;
  machineId?: string;
  /** Sent as JSON; `null` is an empty body that still carries the JSON content type. */
  body?: object | null;
}

export interface ServiceReply {
  kind: 'reply';
  status: number;
  headers: { retryAfter?: string | undefined; date?: string | undefined };
  /** Empty when `bodyFault` is set. */
  body: string;
  /** The status arrived but the body did not: the connection broke, or it was larger than allowed. */
  bodyFault?: { code: 'network' | 'malformed-answer'; cause: CloudErrorCause };
}

/** What became of one HTTP request. */
export type Exchange =
  ServiceReply | { kind: 'failed'; code: 'timeout' | 'network'; cause: CloudErrorCause };
