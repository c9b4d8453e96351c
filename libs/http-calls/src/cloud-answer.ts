import type { CloudErrorCause } from './exchange.js';

/** Entries that lack what they are identified by. */
export interface IncompleteEntries {
  count: number;
  /** What the first of them lacks, by its path in the answer and without any value. */
  why: string;
  /** Of those that have at least an ID. */
  ids: readonly string[];
}

/** The entries of a list that could be read. */
export interface ListEntries<T> {
  entries: T[];
  incomplete?: IncompleteEntries;
}

/** What a call came to. Every failure but the caller's own abort is one of these values. */
export type CloudAnswer<T> =
  | {
      kind: 'data';
      data: T;
      /** Entries that a list had beside those in `data`. */
      incomplete?: IncompleteEntries;
    }
  /** 204, or an empty reason list: the service has nothing to say. */
  | { kind: 'noData' }
  /** The request's own fault; sending it again will not help. `detail` is one line for a human. */
  | { kind: 'rejected'; status: number; detail: string }
  /** Worth repeating, not before `afterMs` (real milliseconds, from `Retry-After`) have passed. */
  | { kind: 'retry'; afterMs: number | null; error: CloudError }
  | Unauthorised;

/** The token is not accepted (401) or lacks the scope (403). */
export interface Unauthorised {
  kind: 'unauthorised';
  status: 401 | 403;
  /** Why there is no token, where the request was not even sent; one line without any secret. */
  why?: string;
}

/** One line for operators. */
export function describeUnauthorised({ status, why }: Unauthorised): string {
  if (why !== undefined) return `no access token: ${why}`;
  const fault = status === 401 ? 'the token is not accepted' : 'the token lacks the scope';
  return `the service answers ${status}: ${fault}`;
}

export type CloudErrorCode = 'timeout' | 'network' | 'http-status' | 'malformed-answer';

interface CloudErrorDetails {
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
  readonly operation: string;
  readonly status?: number;
  readonly field?: string;
  override readonly cause?: CloudErrorCause;

  constructor(
    code: CloudErrorCode,
    operation: string,
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
