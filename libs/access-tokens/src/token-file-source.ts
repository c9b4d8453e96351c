import { Logger } from '@nestjs/common';
import { realNowMs } from '#libs/clock';
import { FileTooLargeError, readSettingsFileAsync, settingsFileVersion } from '#libs/config';
import { type TokenAnswer, type TokenSource, whyUnsendable } from './token-source.js';

/** Thousands of calls a second share a check of the file; after a refusal it is checked at once. */
const CHECK_INTERVAL_MS = 1000;

/**
 * The content of a file without surrounding white space, read again whenever the file has changed. While it is
 * missing, unreadable or contains no token, the last valid one is kept.
 */
export class TokenFileSource implements TokenSource {
  private readonly logger = new Logger('AccessToken');
  private known: { version: string; token: string } | undefined;
  private nextCheckMs = -Infinity;
  private refreshing: Promise<TokenAnswer> | undefined;
  private isLost = false;

  constructor(
    private readonly path: string,
    private readonly nowMs: () => number = realNowMs,
  ) {}

  currentToken(): string | undefined {
    return this.nowMs() < this.nextCheckMs ? this.known?.token : undefined;
  }

  obtainToken(): Promise<TokenAnswer> {
    this.refreshing ??= this.refresh().finally(() => {
      this.refreshing = undefined;
    });
    return this.refreshing;
  }

  async replaceToken(refused: string): Promise<TokenAnswer | null> {
    const answer = await this.obtainToken();
    return answer.kind === 'token' && answer.token !== refused ? answer : null;
  }

  closeTokenSource(): Promise<void> {
    return Promise.resolve();
  }

  private async refresh(): Promise<TokenAnswer> {
    const answer = await this.readToken();
    this.nextCheckMs = this.nowMs() + CHECK_INTERVAL_MS;
    this.logChange(answer);
    return this.known === undefined ? answer : { kind: 'token', token: this.known.token };
  }

  private async readToken(): Promise<TokenAnswer> {
    try {
      // before the content: the next check then notices a change between the two
      const version = await settingsFileVersion(this.path);
      if (this.known?.version === version) return { kind: 'token', token: this.known.token };
      const token = (await readSettingsFileAsync(this.path)).trim();
      const fault = whyUnsendable(token);
      if (fault !== undefined) return this.unreadable(`: ${fault}`);
      this.known = { version, token };
      return { kind: 'token', token };
    } catch (error) {
      const { code = 'unknown error' } = error as NodeJS.ErrnoException;
      const why = error instanceof FileTooLargeError ? error.message : code;
      return this.unreadable(` cannot be read (${why})`);
    }
  }

  private unreadable(why: string): TokenAnswer {
    return { kind: 'unavailable', why: `token file ${this.path}${why}`, afterMs: null };
  }

  private logChange(answer: TokenAnswer): void {
    const isLost = answer.kind !== 'token';
    if (isLost === this.isLost) return;
    this.isLost = isLost;
    const { path, known } = this;
    if (!isLost) this.logger.log({ msg: 'token file read again', path });
    else this.logger.warn({ msg: 'token file not read', why: answer.why, keptLast: !!known });
  }
}
