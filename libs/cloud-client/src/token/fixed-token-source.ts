import { whyUnsendable } from './sendable-token.js';
import { type TokenAnswer, type TokenSource } from './token-source.js';

/** A token that never changes. */
export class FixedTokenSource implements TokenSource {
  private readonly answer: TokenAnswer;
  private readonly token: string | undefined;

  constructor(text: string) {
    const token = text.trim();
    const why = whyUnsendable(token);
    this.token = why === undefined ? token : undefined;
    this.answer =
      why === undefined ? { kind: 'token', token } : { kind: 'unavailable', why, afterMs: null };
  }

  current(): string | undefined {
    return this.token;
  }

  obtain(): Promise<TokenAnswer> {
    return Promise.resolve(this.answer);
  }

  replace(): Promise<null> {
    return Promise.resolve(null);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
