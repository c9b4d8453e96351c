import { isScope, type Scope, SCOPES } from './scopes.js';
import type { TokenScopes } from './token-registry.js';

export type ParsedTokens = { ok: true; tokens: TokenScopes } | { ok: false; problem: string };

/** Reads the text of a tokens file: JSON `{token: [scopes]}`. Problems never quote a token. */
export function parseTokens(text: string): ParsedTokens {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { ok: false, problem: 'is not JSON' };
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    return { ok: false, problem: 'must be a JSON object of tokens and their scopes' };
  }
  const tokens = new Map<string, ReadonlySet<Scope>>();
  for (const [token, scopes] of Object.entries(json) as [string, unknown][]) {
    if (!Array.isArray(scopes) || !scopes.every(isScope)) {
      return { ok: false, problem: `must list scopes out of ${SCOPES.join(', ')} for each token` };
    }
    tokens.set(token, new Set(scopes));
  }
  return { ok: true, tokens };
}
