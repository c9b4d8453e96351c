import { type Operation, SCOPE_OF } from './operations.js';
import type { TokenRegistry } from './access/token-registry.js';

export type Authorisation =
  { allowed: true } | { allowed: false; status: 401 | 403; message: string };

/**
 * Decides whether a call may be made (interface, "Authentication"). The interface knows 403 for a
 * token without the scope; a token that is missing or unknown has no scope to speak of and is
 * answered with 401.
 */
export function authorise(
  operation: Operation,
  authorization: string | undefined,
  registry: TokenRegistry,
): Authorisation {
  const scope = SCOPE_OF[operation];
  if (scope === null) return { allowed: true };
  const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
  const scopes = token === undefined ? undefined : registry.scopesOf(token);
  if (!scopes) return { allowed: false, status: 401, message: 'access token missing or unknown' };
  if (scopes.has(scope)) return { allowed: true };
  return { allowed: false, status: 403, message: `unauthorized scope request: ${scope} is needed` };
}
