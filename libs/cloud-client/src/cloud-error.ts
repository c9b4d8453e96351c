import { type Operation } from './operations.js';

export type CloudErrorCode = 'timeout' | 'network' | 'http-status' | 'malformed-answer';

/** What is kept of the underlying failure: an HTTP library's own error carries the request's headers. */
export interface CloudErrorCause {
  code?: string;
  message: string;
}

export interface CloudErrorDetails {
  /** HTTP status, where there was one. */
  status?: number;
  /** Where a malformed answer went wrong, e.g. `[3].startTime`; `body` for the answer as a whole. */
  field?: string;
  cause?: CloudErrorCause;
}

/** Why a call has to be repeated. Holds neither the access token nor any value from the answer. */
export class CloudError extends Error {
  override readonly name = 'CloudError';
  readonly code: CloudErrorCode;
  readonly operation: Operation;
  readonly retryable = true;
  readonly status?: number;
  readonly field?: string;
  override readonly cause?: CloudErrorCause;

  constructor(
    code: CloudErrorCode,
    operation: Operation,
    problem: string,
    details: CloudErrorDetails = {},
  ) {
    super(`${operation}: ${problem}`);
    this.code = code;
    this.operation = operation;
    if (details.status !== undefined) this.status = details.status;
    if (details.field !== undefined) this.field = details.field;
    if (details.cause !== undefined) this.cause = details.cause;
  }
}
