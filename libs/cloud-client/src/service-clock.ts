import { parseHttpDate } from '#libs/http-calls';

/** How far the service's clock is ahead of ours (negative: behind), and the maximum error of that. */
export interface ClockOffset {
  offsetMs: number;
  errorMs: number;
}

interface Sample extends ClockOffset {
  takenMs: number;
}

/** `Date` has whole seconds. */
const RESOLUTION_MS = 1000;
/** A few odd answers among these do not move the median. */
const MOST_SAMPLES = 15;
/** Minimum time between samples: a few a second, at different fractions of it. */
const SPACING_MS = 370;
/** Ten minutes: the machine list is read every five. Two clocks drift apart by less than 0.1 s meanwhile. */
const MAX_AGE_MS = 600_000;
/** A day: a larger offset comes from a clock that was never set, or from a cached page. */
const IMPLAUSIBLE_MS = 86_400_000;

/** Estimates the service's clock by the `Date` of its answers: the median of recent ones. Pure; in our epoch ms. */
export class ServiceClock {
  /** Oldest first. */
  private samples: Sample[] = [];
  private median: Sample | undefined;

  /** @param date the answer's `Date` header, if it has one */
  observeDate(date: string | undefined, sentMs: number, answeredMs: number): void {
    const latest = this.samples.at(-1);
    // Our own clock has been set back: earlier samples are void.
    if (latest !== undefined && answeredMs < latest.takenMs) this.samples = [];
    else if (latest !== undefined && answeredMs < latest.takenMs + SPACING_MS) return;
    const secondMs = date === undefined ? null : parseHttpDate(date);
    if (secondMs === null) return;
    // The `Date` was written between the two, at any time within its second.
    const offsetMs = secondMs + RESOLUTION_MS / 2 - (sentMs + answeredMs) / 2;
    if (Math.abs(offsetMs) > IMPLAUSIBLE_MS) return;
    const errorMs = RESOLUTION_MS / 2 + (answeredMs - sentMs) / 2;
    const sample = { offsetMs, errorMs, takenMs: answeredMs };
    this.samples = [...this.samples, sample]
      .filter(({ takenMs }) => takenMs >= answeredMs - MAX_AGE_MS)
      .slice(-MOST_SAMPLES);
    const byOffset = this.samples.toSorted((one, other) => one.offsetMs - other.offsetMs);
    this.median = byOffset[Math.floor(byOffset.length / 2)];
  }

  /** Undefined while no answer of the last ten minutes had a usable `Date`. */
  offsetAt(nowMs: number): ClockOffset | undefined {
    const { median } = this;
    const latestMs = this.samples.at(-1)?.takenMs ?? -Infinity;
    if (median === undefined || latestMs < nowMs - MAX_AGE_MS) return undefined;
    return { offsetMs: median.offsetMs, errorMs: median.errorMs };
  }
}
