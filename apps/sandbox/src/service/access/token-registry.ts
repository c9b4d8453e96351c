import { randomBytes } from 'node:crypto';
import { ALL_SCOPES, type Scope } from './scopes.js';

const ISSUED_TOKENS_REMEMBERED = 1000;

export type TokenScopes = ReadonlyMap<string, ReadonlySet<Scope>>;

/** Which tokens there are and what each may do. */
export class TokenRegistry {
  private readonly issued = new Set<string>();
  private listed: TokenScopes = new Map();

  /** `ownToken` holds all scopes, unless the list of tokens says otherwise. */
  constructor(private readonly ownToken: string) {}

  /** Replaces the tokens listed in the tokens file. */
  replaceListed(tokens: TokenScopes): void {
    this.listed = tokens;
  }

  /** A new token with all scopes; the oldest is forgotten when there are too many. */
  issue(): string {
    const token = randomBytes(24).toString('base64url');
    this.issued.add(token);
    const [oldest] = this.issued;
    if (oldest !== undefined && this.issued.size > ISSUED_TOKENS_REMEMBERED) {
      this.issued.delete(oldest);
    }
    return token;
  }

  scopesOf(token: string): ReadonlySet<Scope> | undefined {
    const listed = this.listed.get(token);
    if (listed) return listed;
    return token === this.ownToken || this.issued.has(token) ? ALL_SCOPES : undefined;
  }
}
