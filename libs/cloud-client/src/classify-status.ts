export type StatusClass = 'success' | 'noContent' | 'unauthorised' | 'rejected' | 'retry';

/**
 * The request's own fault, as far as one answer can tell. Any other client error, and a redirect, tells of the way (a
 * gateway, a proxy, a maintenance page, a method or path that is not served there) and may pass; a message must not be
 * given up for it.
 */
const FAULTS_OF_THE_REQUEST = new Set([400, 404, 409, 413, 415, 422]);
const NO_CONTENT = new Set([204, 205]);

/**
 * Sorts an HTTP status by what has to follow. A redirect is never followed, since the token would travel
 * to another host.
 */
export function classifyStatus(status: number): StatusClass {
  if (NO_CONTENT.has(status)) return 'noContent';
  if (status >= 200 && status < 300) return 'success';
  if (status === 401 || status === 403) return 'unauthorised';
  return FAULTS_OF_THE_REQUEST.has(status) ? 'rejected' : 'retry';
}
