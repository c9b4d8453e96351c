import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import { SettingsError } from '#libs/config';
import { parseTokens } from './parse-tokens.js';
import type { TokenRegistry } from './token-registry.js';

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
