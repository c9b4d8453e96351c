import { randomBytes } from 'node:crypto';
import { realNowMs } from '#libs/clock';
import { ALL_SCOPES, type Operation, OPERATIONS, type Scope } from './operations.js';

const ISSUED_TOKENS_REMEMBERED = 1000;

export type TokenScopes = ReadonlyMap<string, ReadonlySet<Scope>>;

/** The valid tokens and their scopes. */
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
  issueToken(lifetimeSeconds = Infinity): string {
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
