import { unwatchFile, watchFile } from 'node:fs';
import { Logger } from '@nestjs/common';
import { type EnvironmentReader, type FromFiles, SettingsError } from '#libs/config';
import { isJsonObject } from '#libs/contracts';
import type { TokenRegistry, TokenScopes } from './token-registry.js';
import { isScope, type Scope, SCOPES } from './operations.js';

/** Polls the file, because secrets are rotated by a rename, which watching an inode would miss. */
const WATCH_INTERVAL_MS = 100;

const SETTING = 'SANDBOX_TOKENS_FILE';

/** The tokens of the file, JSON `{token: [scopes]}`; undefined without a file. */
export function readTokens(env: EnvironmentReader): TokenScopes | undefined {
  const json = env.json(SETTING);
  if (json === undefined) return undefined;
  const tokens = new Map<string, ReadonlySet<Scope>>();
  if (!isJsonObject(json)) {
    env.refuse(SETTING, 'must be a JSON object of tokens and their scopes');
    return tokens;
  }
  for (const [token, scopes] of Object.entries(json)) {
    if (Array.isArray(scopes) && scopes.every(isScope)) tokens.set(token, new Set(scopes));
    else env.refuse(SETTING, `must list scopes out of ${SCOPES.join(', ')} for each token`);
  }
  return tokens;
}

/**
 * Loads the tokens again when their file changes. Keeps and reports the tokens while the file cannot be used.
 *
 * @returns a function that stops the watching
 */
export function followTokensFile(
  path: string,
  { readAgain }: FromFiles<TokenScopes>,
  registry: TokenRegistry,
): () => void {
  const logger = new Logger('TokensFile');
  const reload = (): void => {
    try {
      registry.replaceListed(readAgain());
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      logger.warn(`kept the tokens as they were: ${error.problems.join('; ')}`);
    }
  };
  watchFile(path, { interval: WATCH_INTERVAL_MS, persistent: false }, reload);
  return () => unwatchFile(path, reload);
}
