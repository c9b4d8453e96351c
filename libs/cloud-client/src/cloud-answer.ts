import { type CloudError } from './cloud-error.js';
import { type IncompleteEntries } from './list-entries.js';

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
  /** The token is not accepted (401) or lacks the scope (403). */
  | { kind: 'unauthorised'; status: 401 | 403 };
