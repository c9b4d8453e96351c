import { createHmac } from 'node:crypto';
import { realEpochMs } from '#libs/clock';
import type { IngestCallback, IngestSettings } from '#libs/config';
import { type HttpCaller, HttpTransport, readRetryAfter } from '#libs/http-calls';

/** The result of a call; `why` contains no text of the answer. `refused`: the receiver will never accept it. */
type CallbackAnswer =
  { kind: 'done'; status: number; result: 'delivered' | 'refused'; why?: string } | Retry;

/** The call is to be repeated; `status` is the answer's, or a word for why there is none. */
export interface Retry {
  kind: 'retry';
  status: number | string;
  why: string;
  /** Shortest wait, in real milliseconds, from `Retry-After`. */
  afterMs: number | null;
}

const MAX_ANSWER_BYTES = 65_536;
/**
 * Statuses of refusals that may pass: a wrong secret or address that somebody mends, a receiver that is being replaced.
 * A redirect counts as one, too, as to a maintenance page.
 */
const PASSING = new Set([401, 403, 404, 408, 425, 429]);

/**
 * Posts to one receiver, signed by Standard Webhooks: HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<body>`. Only the
 * status counts; redirects are not followed: the body would go to another host.
 */
export class CallbackClient {
  private readonly transport: HttpTransport;
  private readonly url: URL;

  constructor(
    private readonly callback: IngestCallback,
    proxy: IngestSettings['proxy'],
  ) {
    const { timeoutMs } = callback;
    this.url = new URL(callback.url);
    this.transport = new HttpTransport({
      ...{ origin: this.url.origin, maxConnections: 1, timeoutMs },
      ...{ maxAnswerBytes: MAX_ANSWER_BYTES, proxy },
    });
  }

  /** @throws only the reason of the caller's signal, or its objection */
  async postOutcome(
    id: string,
    { contentType, text }: { contentType: string; text: string },
    caller: HttpCaller,
  ): Promise<CallbackAnswer> {
    const timestamp = String(Math.floor(realEpochMs() / 1000));
    const signature = createHmac('sha256', this.callback.hmacKey)
      .update(`${id}.${timestamp}.${text}`)
      .digest('base64');
    const headers = [
      ...['content-type', contentType, 'webhook-id', id],
      ...['webhook-timestamp', timestamp, 'webhook-signature', `v1,${signature}`],
    ];
    const path = this.url.pathname + this.url.search;
    const request = { operation: 'callback', method: 'POST', path, headers, body: text } as const;
    const exchange = await this.transport.exchange(request, caller);
    if (exchange.kind === 'failed') {
      const { code, why } = exchange;
      return { kind: 'retry', status: code, why, afterMs: null };
    }
    const { status } = exchange;
    if (status >= 200 && status < 300) return { kind: 'done', status, result: 'delivered' };
    const why = `the receiver answered ${status}`;
    if (status >= 400 && status < 500 && !PASSING.has(status)) {
      return { kind: 'done', status, result: 'refused', why };
    }
    return { kind: 'retry', status, why, afterMs: readRetryAfter(exchange.headers, realEpochMs()) };
  }

  /** Waits for a request in flight. */
  async closeConnections(): Promise<void> {
    await this.transport.drainConnections();
  }
}
