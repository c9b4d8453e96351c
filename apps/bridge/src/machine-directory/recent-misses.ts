import { realNowMs } from '#libs/clock';
import { BoundedMap } from '../platform/index.js';
import type { LookUpFailure } from './directory-answer.js';
import { MIN_GAP_MS } from './shared-look-up.js';

/** How long a failed look-up stands: long where the token may not ask, short where the service is away. */
const FAILURE_MS = { unverifiable: 10_000, unavailable: 1000 };

/** A name that a look-up did not find stays unknown until the next look-up may be made. */
const MISS_MS = MIN_GAP_MS;

/**
 * What the latest look-ups did not find, in real time. Spares messages that repeat the same unknown name
 * the wait for a look-up each; a name not asked for before is never answered from here as unknown.
 */
export class RecentMisses {
  private readonly unknownUntilMs: BoundedMap<string, number>;
  private latest: { failure: LookUpFailure; untilMs: number } | undefined;

  /** @param capacity names remembered; messages may carry any number of wrong ones */
  constructor(capacity: number) {
    this.unknownUntilMs = new BoundedMap(capacity);
  }

  /** Undefined when a look-up is needed. */
  answerTo(name: string): 'unknown' | LookUpFailure | undefined {
    const nowMs = realNowMs();
    if (nowMs < (this.unknownUntilMs.get(name) ?? -Infinity)) return 'unknown';
    const { latest } = this;
    return latest !== undefined && nowMs < latest.untilMs ? latest.failure : undefined;
  }

  /** A look-up succeeded and did not find this name. */
  missed(name: string): void {
    this.unknownUntilMs.set(name, realNowMs() + MISS_MS);
  }

  /** A look-up succeeded, whoever asked for it: the names it did not find are missing still. */
  found(names: { has(name: string): boolean }): void {
    this.latest = undefined;
    const untilMs = realNowMs() + MISS_MS;
    for (const name of [...this.unknownUntilMs.keys()]) {
      if (names.has(name)) this.unknownUntilMs.delete(name);
      else this.unknownUntilMs.set(name, untilMs);
    }
  }

  /** A look-up failed. */
  failed(failure: LookUpFailure): void {
    const forMs = FAILURE_MS[typeof failure === 'string' ? failure : failure.kind];
    this.latest = { failure, untilMs: realNowMs() + forMs };
  }
}
