import { realNowMs } from './real-time.js';

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
