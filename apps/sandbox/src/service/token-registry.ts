import { randomBytes } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { everyRealMs, realNowMs } from '#libs/clock';
import { type EnvironmentReader, type FromFiles, WatchedFiles } from '#libs/config';
import { isJsonObject } from '#libs/contracts';
import { ALL_SCOPES, type Operation, OPERATIONS, type Scope } from './operations.js';

const ISSUED_TOKENS_REMEMBERED = 1000;

type TokenScopes = ReadonlyMap<string, ReadonlySet<Scope>>;

export class TokenRegistry {
  /** Expiry in real milliseconds, by token. */
  private readonly issued = new Map<string, number>();
  private listed: TokenScopes = new Map();

  /** @param ownToken has all scopes, unless the tokens file lists it with others */
  constructor(private readonly ownToken: string) {}

  /** Replaces the tokens listed in the tokens file. */
  replaceListed(tokens: TokenScopes): void {
    this.listed = tokens;
  }

  /** Issues a token with all scopes. Above the limit, the oldest issued token becomes invalid. */
  issueToken(lifetimeSeconds: number): string {
    const token = randomBytes(24).toString('base64url');
    this.issued.set(token, realNowMs() + lifetimeSeconds * 1000);
    const [oldest] = this.issued.keys();
    if (oldest !== undefined && this.issued.size > ISSUED_TOKENS_REMEMBERED) {
      this.issued.delete(oldest);
    }
    return token;
  }

  scopesOf(token: string): ReadonlySet<Scope> | undefined {
    const listed = this.listed.get(token);
    if (listed) return listed;
    const isGood = token === this.ownToken || (this.issued.get(token) ?? 0) > realNowMs();
    return isGood ? ALL_SCOPES : undefined;
  }
}

type Authorisation = { allowed: true } | { allowed: false; status: 401 | 403; message: string };

/**
 * Decides whether a call is allowed (interface, "Authentication"). The interface has 403 for a token without the scope;
 * a missing or unknown token is answered with 401.
 */
export function authorise(
  operation: Operation,
  authorization: string | undefined,
  registry: TokenRegistry,
): Authorisation {
  const scope = OPERATIONS[operation].scope;
  if (scope === null) return { allowed: true };
  const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
  const scopes = token === undefined ? undefined : registry.scopesOf(token);
  if (!scopes) return { allowed: false, status: 401, message: 'access token missing or unknown' };
  if (scopes.has(scope)) return { allowed: true };
  return { allowed: false, status: 403, message: `unauthorized scope request: ${scope} is needed` };
}

const CHECK_EVERY_MS = 100;

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
    else
      env.refuse(SETTING, `must list scopes out of ${[...ALL_SCOPES].join(', ')} for each token`);
  }
  return tokens;
}

/**
 * Loads the tokens again when their file changes. Keeps and reports the tokens while the file cannot be used.
 *
 * @returns a function that stops the watching
 */
export function followTokens(tokens: FromFiles<TokenScopes>, registry: TokenRegistry): () => void {
  const logger = new Logger('TokensFile');
  registry.replaceListed(tokens.value);
  const watched = new WatchedFiles(tokens, (renewed) => registry.replaceListed(renewed));
  return everyRealMs(CHECK_EVERY_MS, () => {
    const why = watched.checkFiles();
    if (why !== undefined) logger.warn(`kept the tokens as they were: ${why}`);
  });
}

function isScope(name: unknown): name is Scope {
  return ALL_SCOPES.has(name as Scope);
}
