import { realEpochMs, realNowMs } from '#libs/clock';

/**
 * A time by the wall clock, for kafkajs to compare with the wall clock. It is set back with it: otherwise nothing would
 * be due until the clock is as late as before.
 */
export class SteadyTime {
  private readonly aheadMs = wallAheadMs();

  /** @param givenMs epoch milliseconds by the present wall clock */
  constructor(private readonly givenMs: number) {}

  get epochMs(): number {
    return this.givenMs + Math.min(0, wallAheadMs() - this.aheadMs);
  }
}

/** The wall clock less the monotonic one: falls when the wall clock is set back. */
function wallAheadMs(): number {
  return realEpochMs() - realNowMs();
}

/** A request, which times out some time after `sentAt`. */
export type SentRequestClass = new (options: never) => object;

/** Times out requests that were sent before the wall clock was set back. */
export function withSteadyTimeouts(Base: SentRequestClass): SentRequestClass {
  return class SocketRequest extends Base {
    private sent: SteadyTime | null = null;

    get sentAt(): number | null {
      return this.sent?.epochMs ?? null;
    }

    set sentAt(epochMs: number | null) {
      this.sent = epochMs === null ? null : new SteadyTime(epochMs);
    }
  };
}

/** Metadata of a cluster, which are refreshed after `metadataExpireAt`. */
export type ExpiringMetadataClass = new (options: never) => object;

/** Refreshes metadata that were read before the wall clock was set back: new partitions show nowhere else. */
export function withSteadyExpiry(Base: ExpiringMetadataClass): ExpiringMetadataClass {
  return class BrokerPool extends Base {
    private expires: SteadyTime | null = null;

    get metadataExpireAt(): number | null {
      return this.expires?.epochMs ?? null;
    }

    set metadataExpireAt(epochMs: number | null) {
      this.expires = epochMs === null ? null : new SteadyTime(epochMs);
    }
  };
}
