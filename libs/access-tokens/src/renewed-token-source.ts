import { Logger } from '@nestjs/common';
import { realNowMs } from '#libs/clock';
import type { HttpAnswer } from '#libs/http-calls';
import type { TokenGrant, TokenOperation, TokenRequests } from './token-requests.js';
import type { NoToken, TokenAnswer, TokenSource } from './token-source.js';

/**
 * Tokens issued for credentials: renewed before they expire or when the service refuses them, by one
 * request for all calls. While renewal fails, calls fail at once with the latest failure.
 */
export class RenewedTokenSource implements TokenSource {
  private readonly logger = new Logger('AccessToken');
  private held: HeldToken | undefined;
  private renewing: Promise<TokenAnswer> | undefined;
  private failed: FailedRenewals | undefined;
  private replacedMs = -Infinity;
  /** Whether the next token is obtained because of a 403. */
  private isForForbidden = false;
  private isClosed = false;

  /** @param issue never rejects */
  constructor(
    private readonly requests: Pick<TokenRequests, 'operation' | 'closeConnection'>,
    private readonly issue: () => Promise<HttpAnswer<TokenGrant>>,
    private readonly nowMs: () => number = realNowMs,
  ) {}

  currentToken(): string | undefined {
    const { held } = this;
    if (held === undefined) return undefined;
    const nowMs = this.nowMs();
    if (nowMs < held.renewMs) return held.token;
    if (nowMs >= held.expiresMs) return undefined;
    // renewed in the background
    void this.obtainToken();
    return held.token;
  }

  obtainToken(): Promise<TokenAnswer> {
    if (this.renewing !== undefined) return this.renewing;
    const { failed } = this;
    const pauseMs = failed === undefined ? 0 : failed.nextAttemptMs - this.nowMs();
    if (failed !== undefined && pauseMs > 0) {
      const { latest } = failed;
      const isRefused = latest.kind === 'refused';
      return Promise.resolve(isRefused ? latest : { ...latest, afterMs: Math.ceil(pauseMs) });
    }
    this.renewing = this.renew().finally(() => {
      this.renewing = undefined;
    });
    return this.renewing;
  }

  /** A token that is not due for renewal, if one can be obtained: for a session that ends with its token. */
  async obtainFreshToken(): Promise<TokenAnswer> {
    const { held } = this;
    if (held !== undefined && this.nowMs() < held.renewMs) return tokenAnswerOf(held);
    const answer = await this.obtainToken();
    return answer.kind === 'token' || held === undefined || this.nowMs() >= held.expiresMs
      ? answer
      : tokenAnswerOf(held);
  }

  async replaceToken(refused: string, status: 401 | 403): Promise<TokenAnswer | null> {
    const token = this.currentToken();
    if (token !== undefined && token !== refused) return { kind: 'token', token };
    if (token !== undefined && !this.mayReplace(status)) return null;
    const answer = await this.obtainToken();
    return answer.kind === 'token' && answer.token === refused ? null : answer;
  }

  async closeTokenSource(): Promise<void> {
    this.isClosed = true;
    await this.requests.closeConnection();
  }

  /** Whether to renew the current token, which the service has refused. */
  private mayReplace(status: 401 | 403): boolean {
    // a renewal is in progress, or known to fail
    if (this.renewing !== undefined || this.failed !== undefined) return true;
    const { held, replacedMs } = this;
    const nowMs = this.nowMs();
    if (held === undefined || nowMs - replacedMs < REPLACED_EVERY_MS) return false;
    const isKept = held.isForForbidden && nowMs - held.obtainedMs < FORBIDDEN_AFTER_MS;
    if (status === 403 && isKept) return false;
    this.replacedMs = nowMs;
    this.isForForbidden = status === 403;
    return true;
  }

  private async renew(): Promise<TokenAnswer> {
    const { operation } = this.requests;
    const answer = await this.issue();
    if (answer.kind !== 'data') return this.recordFailure(explainRefusal(operation, answer));
    if (this.failed !== undefined) this.logger.log({ msg: 'access token renewed again' });
    this.failed = undefined;
    const { token, lifeMs } = answer.data;
    const obtainedMs = this.nowMs();
    const { isForForbidden } = this;
    this.held = {
      ...{ token, obtainedMs, isForForbidden },
      renewMs: obtainedMs + (lifeMs === null ? Infinity : renewAfterMs(lifeMs)),
      expiresMs: obtainedMs + (lifeMs ?? Infinity),
    };
    this.isForForbidden = false;
    this.logger.debug({ msg: 'access token obtained', operation, lifeMs });
    return { kind: 'token', token };
  }

  /** Begins a pause, of at least `Retry-After`. */
  private recordFailure(latest: NoToken): NoToken {
    if (this.failed === undefined && !this.isClosed) {
      this.logger.warn({ msg: 'access token not renewed', why: latest.why });
    }
    const count = (this.failed?.count ?? 0) + 1;
    const floorMs = latest.kind === 'unavailable' ? (latest.afterMs ?? 0) : 0;
    const nextAttemptMs = this.nowMs() + Math.max(renewalPauseMs(count, latest.kind), floorMs);
    this.failed = { count, latest, nextAttemptMs };
    return latest;
  }
}

type Failure = Exclude<HttpAnswer<never>, { kind: 'data' }>;

function explainRefusal(operation: TokenOperation, answer: Failure): NoToken {
  switch (answer.kind) {
    case 'unauthorised':
      return refused(operation, `HTTP ${answer.status}`);
    case 'rejected':
      // RFC 6749 answers wrong credentials with 400, some logins do too
      if (answer.status === 400) return refused(operation, answer.detail);
      return { kind: 'unavailable', why: `${operation}: ${answer.detail}`, afterMs: null };
    case 'retry':
      return { kind: 'unavailable', why: answer.error.message, afterMs: answer.afterMs };
    case 'noData':
      return { kind: 'unavailable', why: `${operation}: an empty answer`, afterMs: null };
    default:
      return answer satisfies never;
  }
}

function refused(operation: TokenOperation, detail: string): NoToken {
  return { kind: 'refused', why: `${operation}: the credentials are not accepted (${detail})` };
}

/** Consecutive failed renewals; times are real, monotonic milliseconds. */
interface FailedRenewals {
  count: number;
  latest: NoToken;
  nextAttemptMs: number;
}

const LONGEST_PAUSE_MS = 60_000;
/** The first pause; refused credentials are seldom corrected within a second. */
const FIRST_PAUSE_MS = { unavailable: 1000, refused: 5000 };

/**
 * Pause after `failures` failed renewals in a row, in real milliseconds: doubling, capped, and partly random so that
 * several bridges do not return together.
 */
export function renewalPauseMs(
  failures: number,
  kind: keyof typeof FIRST_PAUSE_MS,
  random: () => number = Math.random,
): number {
  const pauseMs = Math.min(
    FIRST_PAUSE_MS[kind] * 2 ** Math.min(failures - 1, 30),
    LONGEST_PAUSE_MS,
  );
  return Math.round(pauseMs * (0.5 + random() / 2));
}

/** A token in use; times are real, monotonic milliseconds, `Infinity` if its lifetime is unknown. */
interface HeldToken {
  token: string;
  obtainedMs: number;
  /** Whether its predecessor was answered 403. */
  isForForbidden: boolean;
  /** From this time on it is renewed while it is still used. */
  renewMs: number;
  expiresMs: number;
}

function tokenAnswerOf({ token }: HeldToken): TokenAnswer {
  return { kind: 'token', token };
}

/** How long a token obtained after a 403 is kept: a machine that is forbidden is answered 403 with any token. */
const FORBIDDEN_AFTER_MS = 60_000;
/** Minimum time between replacements, for a service that refuses every token. */
const REPLACED_EVERY_MS = 5000;

/** Time before expiry at which a token is renewed: a share of a short lifetime, a minute of a long one. */
const MARGIN_SHARE = 0.2;
const LONGEST_MARGIN_MS = 60_000;

/** Real milliseconds from issue to renewal of a token that is valid for `lifeMs`. */
function renewAfterMs(lifeMs: number): number {
  return lifeMs - Math.min(LONGEST_MARGIN_MS, lifeMs * MARGIN_SHARE);
}
