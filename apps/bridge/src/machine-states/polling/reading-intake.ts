import { type MachineStateReading } from '#libs/cloud-client';
import { isTooFarAhead } from '../derivation/times-ahead.js';

/** A reading as the service has it, and with the time it counts as of. */
interface Redated {
  stated: MachineStateReading;
  taken: MachineStateReading;
}

/** Where a machine's readings come in: a reading of a time that cannot be counts as of when it came. */
export class ReadingIntake {
  private latestRedated: Redated | null = null;
  private latestTime = 0;
  private isAhead = false;

  /**
   * @param now epoch seconds, see {@link WatchContext.latestSeconds}
   * @param onAhead told of the first reading in a row that is too far ahead; kept by each of a hundred thousand
   *   machines it would take 11 MB
   */
  take(stated: MachineStateReading, now: number, onAhead: () => void): MachineStateReading {
    const taken = this.redated(stated, now);
    const isAhead = taken !== stated;
    if (isAhead && !this.isAhead) onAhead();
    this.isAhead = isAhead;
    this.latestTime = taken.lastUpdateTime;
    return taken;
  }

  /** The same answer again is no newer: a service that stands would else never become stale. */
  private redated(stated: MachineStateReading, now: number): MachineStateReading {
    const latest = this.latestRedated;
    if (latest !== null && isSame(latest.stated, stated)) return latest.taken;
    if (!isTooFarAhead(stated.lastUpdateTime, now)) return stated;
    // newer than what came before it, from a clock that had not run quite so far ahead
    const taken = { ...stated, lastUpdateTime: Math.max(now, this.latestTime + 1) };
    this.latestRedated = { stated, taken };
    return taken;
  }
}

function isSame(one: MachineStateReading, other: MachineStateReading): boolean {
  return (
    one.lastUpdateTime === other.lastUpdateTime &&
    one.state === other.state &&
    one.durationInMinutes === other.durationInMinutes
  );
}
