import { isIPv6 } from 'node:net';
import { realNowMs } from '#libs/clock';

interface Bucket {
  tokens: number;
  atMs: number;
}

/** More senders than expected; beyond that, the one that was silent longest is forgotten. */
const MAX_SENDERS = 10_000;

/** Token bucket of each sender: `burst` at once, then `perSecond`. */
export class RateLimit {
  private readonly buckets = new Map<string, Bucket>();

  constructor(
    private readonly burst: number,
    private readonly perSecond: number,
  ) {}

  /**
   * Takes tokens; returns 0, or the seconds until they are available. A count above the burst needs a full bucket
   * only, less the tokens `taken` before for the same request.
   */
  takeTokens(sender: string, count: number, { taken = 0, nowMs = realNowMs() } = {}): number {
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

const IPV4_IN_IPV6 = /^::ffff:(?=\d+\.)/i;

/**
 * The address, or the /64 of an IPv6 address: one host may use all of a /64.
 *
 * @param address undefined for a connection that its client has reset
 */
export function networkOf(address = ''): string {
  const plain = address.replace(IPV4_IN_IPV6, '').replace(/%.*$/, '');
  if (!isIPv6(plain)) return plain;
  const [head = [], tail = []] = plain.split('::').map((part) => part.split(':').filter(Boolean));
  const zeros = Array<string>(8 - head.length - tail.length).fill('0');
  const network = [...head, ...zeros, ...tail].slice(0, 4);
  return `${network.map((group) => parseInt(group, 16).toString(16)).join(':')}::/64`;
}
