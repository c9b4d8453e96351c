export type StatusClass = 'success' | 'noContent' | 'unauthorised' | 'rejected' | 'retry';

/** Client errors that tell of a moment, not of the request: time-out, too early, too many requests. */
const PASSING_CLIENT_ERRORS = new Set([408, 425, 429]);
const NO_CONTENT = new Set([204, 205]);

/**
 * Sorts an HTTP status by what has to follow.
 *
 * A redirect counts as `rejected`: it is never followed, since the token would travel to another host.
 */
export function classifyStatus(status: number): StatusClass {
  if (NO_CONTENT.has(status)) return 'noContent';
  if (status >= 200 && status < 300) return 'success';
  if (status === 401 || status === 403) return 'unauthorised';
  if (PASSING_CLIENT_ERRORS.has(status)) return 'retry';
  return status >= 300 && status < 500 ? 'rejected' : 'retry';
}
