import { Logger } from '@nestjs/common';
import { realNowMs } from '#libs/clock';
import { type CloudAnswer } from '../cloud-answer.js';
import { type TokenOperation } from '../exchange.js';
import { explainRefusal } from './explain-refusal.js';
import { addFailure, type FailedRenewals, knownFailure } from './failed-renewals.js';
import { type HeldToken, holdToken, isWorthReplacing } from './held-token.js';
import { type TokenGrant } from './token-grant.js';
import { type NoToken, type TokenAnswer, type TokenSource } from './token-source.js';

/** Whoever hands out tokens; `issue` never rejects. */
export interface TokenIssuer {
  operation: TokenOperation;
  issue: () => Promise<CloudAnswer<TokenGrant>>;
  close: () => Promise<void>;
}

/**
 * Tokens that are handed out for credentials: renewed before they expire or when the service refuses
 * them, by one request for all calls. While that fails, calls are told at once.
 */
export class RenewedTokenSource implements TokenSource {
  private readonly logger = new Logger('AccessToken');
  private held: HeldToken | undefined;
  private renewing: Promise<TokenAnswer> | undefined;
  private failed: FailedRenewals | undefined;
  private replacedMs = -Infinity;
  /** The next token is obtained because of a 403. */
  private isForForbidden = false;
  private isClosed = false;

  constructor(
    private readonly issuer: TokenIssuer,
    private readonly nowMs: () => number = realNowMs,
  ) {}

  current(): string | undefined {
    const { held } = this;
    if (held === undefined) return undefined;
    const nowMs = this.nowMs();
    if (nowMs < held.renewMs) return held.token;
    if (nowMs >= held.expiresMs) return undefined;
    // its successor comes in the background
    void this.obtain();
    return held.token;
  }

  obtain(): Promise<TokenAnswer> {
    if (this.renewing !== undefined) return this.renewing;
    const known = knownFailure(this.failed, this.nowMs());
    if (known !== undefined) return Promise.resolve(known);
    this.renewing = this.renew().finally(() => {
      this.renewing = undefined;
    });
    return this.renewing;
  }

  async replace(refused: string, status: 401 | 403): Promise<TokenAnswer | null> {
    const token = this.current();
    if (token !== undefined && token !== refused) return { kind: 'token', token };
    if (token !== undefined && !this.mayReplace(status)) return null;
    const answer = await this.obtain();
    return answer.kind === 'token' && answer.token === refused ? null : answer;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await this.issuer.close();
  }

  private mayReplace(status: 401 | 403): boolean {
    // then one is on its way, or known not to come
    if (this.renewing !== undefined || this.failed !== undefined) return true;
    const nowMs = this.nowMs();
    if (this.held === undefined || !isWorthReplacing(status, this.held, this.replacedMs, nowMs)) {
      return false;
    }
    this.replacedMs = nowMs;
    this.isForForbidden = status === 403;
    return true;
  }

  private async renew(): Promise<TokenAnswer> {
    const { operation } = this.issuer;
    const answer = await this.issuer.issue();
    if (answer.kind !== 'data') return this.fail(explainRefusal(operation, answer));
    if (this.failed !== undefined) this.logger.log({ msg: 'access token renewed again' });
    this.failed = undefined;
    this.held = holdToken(answer.data, this.isForForbidden, this.nowMs());
    this.isForForbidden = false;
    const { token, lifeMs } = answer.data;
    this.logger.debug({ msg: 'access token obtained', operation, lifeMs });
    return { kind: 'token', token };
  }

  private fail(answer: NoToken): NoToken {
    const isFirst = this.failed === undefined;
    this.failed = addFailure(this.failed, answer, this.nowMs());
    const { why } = answer;
    if (isFirst && !this.isClosed) this.logger.warn({ msg: 'access token not renewed', why });
    return answer;
  }
}
