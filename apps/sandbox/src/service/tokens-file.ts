import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import { SettingsError } from '#libs/config';
import type { TokenRegistry, TokenScopes } from './token-registry.js';
import { isScope, type Scope, SCOPES } from './operations.js';

/** Polling survives the file being replaced by a rename, which is how secrets are rotated. */
const WATCH_INTERVAL_MS = 100;

/**
 * Loads the tokens file and loads it again whenever it changes. A later content that cannot be read
 * leaves the tokens as they were and is reported through `onProblem`.
 *
 * @returns a function that ends the watching
 * @throws SettingsError when the file cannot be used at the start
 */
export function followTokensFile(
  path: string,
  registry: TokenRegistry,
  onProblem: (problem: string) => void,
): () => void {
  const problem = load(path, registry);
  if (problem !== undefined) throw new SettingsError([`SANDBOX_TOKENS_FILE ${problem}`]);
  const onChange = (): void => {
    const problemNow = load(path, registry);
    if (problemNow !== undefined) onProblem(problemNow);
  };
  watchFile(path, { interval: WATCH_INTERVAL_MS, persistent: false }, onChange);
  return () => {
    unwatchFile(path, onChange);
  };
}

function load(path: string, registry: TokenRegistry): string | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return 'names a file that cannot be read';
  }
  const parsed = parseTokens(text);
  if (!parsed.ok) return parsed.problem;
  registry.replaceListed(parsed.tokens);
  return undefined;
}

type ParsedTokens = { ok: true; tokens: TokenScopes } | { ok: false; problem: string };

/** Reads the text of a tokens file: JSON `{token: [scopes]}`. Problems never quote a token. */
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
