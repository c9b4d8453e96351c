import { realNowMs } from '#libs/clock';

const REQUEST_TIMEOUT_MS = 10_000;

/** For Fastify. A whole request must be there within this time, also one that never begins; its answer may be later. */
export const SERVER_TIMEOUT = { requestTimeout: REQUEST_TIMEOUT_MS } as const;

/**
 * Of Node's server, by plain HTTP or TLS. Node takes the longer of both times for the whole request: with its default
 * of a minute for the head, half a body would stay as long. It looks for late requests once in the interval.
 */
export const SERVER_CHECKS = {
  headersTimeout: REQUEST_TIMEOUT_MS,
  handshakeTimeout: REQUEST_TIMEOUT_MS,
  connectionsCheckingInterval: 1_000,
} as const;

/** Answers are data of the moment, and no page. */
export const DATA_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
} as const;

interface Bucket {
  tokens: number;
  atMs: number;
}

/** More senders than there are: the longest unheard of is forgotten. */
const MAX_SENDERS = 10_000;

/** A bucket of tokens for each sender: `burst` at once, then so many a second. */
export class RateLimit {
  private readonly buckets = new Map<string, Bucket>();

  constructor(
    private readonly burst: number,
    private readonly perSecond: number,
  ) {}

  /**
   * Takes tokens, or says in how many seconds they will be there. More than a burst is let through where the bucket is
   * full, but for those that were `taken` of the same request before.
   */
  take(sender: string, count: number, { taken = 0, nowMs = realNowMs() } = {}): number {
    const { tokens: before, atMs } = this.buckets.get(sender) ?? {
      tokens: this.burst,
      atMs: nowMs,
    };
    const tokens = Math.min(this.burst, before + ((nowMs - atMs) / 1000) * this.perSecond);
    const missing = Math.min(count, this.burst - taken) - tokens;
    this.buckets.delete(sender);
    this.buckets.set(sender, { tokens: missing > 0 ? tokens : tokens - count, atMs: nowMs });
    const [oldest] = this.buckets.keys();
    if (this.buckets.size > MAX_SENDERS && oldest !== undefined) this.buckets.delete(oldest);
    return missing > 0 ? Math.ceil(missing / this.perSecond) : 0;
  }
}
