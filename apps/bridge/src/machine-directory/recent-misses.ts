import { realNowMs } from '#libs/clock';
import { type LookUpFailure } from './directory-status.js';
import { MIN_GAP_MS } from './shared-look-up.js';

/** What a look-up that told nothing holds for: long where the token may not ask, short where the service is away. */
const FAILURE_MS = { unverifiable: 10_000, unavailable: 1000 };

/** A look-up without a name answers for it until the next one may be made: what has just been added is found by that. */
const HOLD_MS = MIN_GAP_MS;

/**
 * What the latest look-ups did not find, in real time. Spares messages that repeat the same unknown name
 * the wait for a look-up each; a name not asked for before is never answered from here as unknown.
 */
export class RecentMisses {
  private readonly unknownUntilMs = new Map<string, number>();
  private latest: { failure: LookUpFailure; untilMs: number } | undefined;

  /** @param capacity names remembered; messages may carry any number of wrong ones */
  constructor(private readonly capacity: number) {}

  /** Undefined when only a look-up can tell. */
  answerTo(name: string): 'unknown' | LookUpFailure | undefined {
    const nowMs = realNowMs();
    if (nowMs < (this.unknownUntilMs.get(name) ?? -Infinity)) return 'unknown';
    const { latest } = this;
    return latest !== undefined && nowMs < latest.untilMs ? latest.failure : undefined;
  }

  /** A look-up has told what there is, without this name. */
  missed(name: string): void {
    // A map keeps the order of insertion: taking the name out first makes it the youngest.
    this.unknownUntilMs.delete(name);
    this.unknownUntilMs.set(name, realNowMs() + HOLD_MS);
    if (this.unknownUntilMs.size <= this.capacity) return;
    const [oldest] = this.unknownUntilMs.keys();
    if (oldest !== undefined) this.unknownUntilMs.delete(oldest);
  }

  /** A look-up has told what there is, whoever has asked for it: the other names are missing still. */
  found(names: { has(name: string): boolean }): void {
    this.latest = undefined;
    const untilMs = realNowMs() + HOLD_MS;
    for (const name of this.unknownUntilMs.keys()) {
      if (names.has(name)) this.unknownUntilMs.delete(name);
      else this.unknownUntilMs.set(name, untilMs);
    }
  }

  /** A look-up has told nothing. */
  failed(failure: LookUpFailure): void {
    const holdMs = FAILURE_MS[typeof failure === 'string' ? failure : failure.kind];
    this.latest = { failure, untilMs: realNowMs() + holdMs };
  }
}
