import { realEpochMs } from '#libs/clock';
import { type CloudAnswer } from '../cloud-answer.js';
import { ASKED_FOR, type Exchange, type TokenOperation } from '../exchange.js';
import { HttpTransport } from '../http-transport.js';
import { type TimedExchanges } from '../timed-exchanges.js';
import { toAnswer } from '../to-answer.js';
import { oauthErrorCode } from './oauth-error-code.js';
import { grantRead, type TokenGrant } from './token-grant.js';

const MAX_ANSWER_BYTES = 64 * 1024;

export interface TokenRequestsOptions {
  operation: TokenOperation;
  url: URL;
  parse: Parameters<typeof grantRead>[0];
  exchanges: TimedExchanges;
  /** Awaited before each request. */
  turn?: () => Promise<void>;
}

/** Requests for a token, on a connection of their own: calls that hang must not hold them up. */
export class TokenRequests {
  readonly operation: TokenOperation;
  private readonly transport: HttpTransport;

  constructor(private readonly options: TokenRequestsOptions) {
    const { operation, url, exchanges } = options;
    this.operation = operation;
    this.transport = new HttpTransport({
      origin: url.origin,
      maxConnections: 1,
      timeoutMs: exchanges.timeoutMs,
      maxAnswerBytes: MAX_ANSWER_BYTES,
    });
  }

  async post(headers: Record<string, string>, body: string): Promise<CloudAnswer<TokenGrant>> {
    const { operation, url, parse, exchanges, turn } = this.options;
    await turn?.();
    const exchange = await exchanges.run(operation, undefined, (end) =>
      this.transport.send(
        {
          method: 'POST',
          path: `${url.pathname}${url.search}`,
          headers: [...ASKED_FOR, ...Object.entries(headers).flat()],
          body,
        },
        end,
      ),
    );
    return toAnswer(operation, withoutEcho(exchange), grantRead(parse, realEpochMs), realEpochMs());
  }

  /** Requests in flight fail. */
  async close(): Promise<void> {
    await this.transport.destroy();
  }
}

/** An error body may repeat the credentials, encoded in one way or another: nothing of it is kept but a known code. */
function withoutEcho(exchange: Exchange): Exchange {
  if (exchange.kind === 'failed' || exchange.status < 300) return exchange;
  return { ...exchange, body: oauthErrorCode(exchange.body) ?? '' };
}
