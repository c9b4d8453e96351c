import { unwatchFile, watchFile } from 'node:fs';
import { type EnvironmentReader, readSettingsFile } from '#libs/config';
import type { TokenRegistry, TokenScopes } from './token-registry.js';
import { isScope, type Scope, SCOPES } from './operations.js';

/** Polls the file, because secrets are rotated by a rename, which watching an inode would miss. */
const WATCH_INTERVAL_MS = 100;

const SETTING = 'SANDBOX_TOKENS_FILE';

/** The tokens of the file at the start; none without a file. */
export function readTokensFile(env: EnvironmentReader, path: string | undefined): TokenScopes {
  const text = path === undefined ? undefined : env.fileContent(SETTING, path);
  const parsed = parseTokens(text ?? '{}');
  if (parsed.ok) return parsed.tokens;
  env.refuse(SETTING, parsed.problem);
  return new Map();
}

/**
 * Loads the tokens file again when it changes. An unreadable file leaves the tokens unchanged and is reported through
 * `onProblem`.
 *
 * @returns a function that stops the watching
 */
export function followTokensFile(
  path: string,
  registry: TokenRegistry,
  onProblem: (problem: string) => void,
): () => void {
  const onChange = (): void => {
    const problem = reloadTokens(path, registry);
    if (problem !== undefined) onProblem(problem);
  };
  watchFile(path, { interval: WATCH_INTERVAL_MS, persistent: false }, onChange);
  return () => unwatchFile(path, onChange);
}

function reloadTokens(path: string, registry: TokenRegistry): string | undefined {
  let text: string;
  try {
    // trim also removes a byte order mark, as at the start
    text = readSettingsFile(path).trim();
  } catch {
    return 'names a file that cannot be read';
  }
  const parsed = parseTokens(text);
  if (!parsed.ok) return parsed.problem;
  registry.replaceListed(parsed.tokens);
  return undefined;
}

type ParsedTokens = { ok: true; tokens: TokenScopes } | { ok: false; problem: string };

/** Parses a tokens file: JSON `{token: [scopes]}`. Problems never quote a token. */
function parseTokens(text: string): ParsedTokens {
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
