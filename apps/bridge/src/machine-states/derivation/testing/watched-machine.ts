import { activityLogNeed } from '../activity-log-need.js';
import { deriveStateChanges, type Sighting } from '../derive-state-changes.js';
import { type ActivityLog } from '../logged-periods.js';
import { parseTrackedMachine } from '../parse-tracked-machine.js';
import { type Seen, seenAfter, seenWithoutLog } from '../seen.js';
import { type SequencedEvent } from '../sequenced-event.js';
import { isWorthStoring, type TrackedMachine } from '../tracked-machine.js';
import { type Conditions, SETTLE_SECONDS, type SimulatedService } from './simulated-service.js';

const MACHINE = { machineId: 'M-1', displayName: 'Mill', factoryId: 'F-1', factoryName: 'Plant' };

export interface Poll extends Conditions {
  isAfterRestart: boolean;
  /** A log that fails is waited for, or in the end done without. */
  log: 'answers' | 'isWaitedFor' | 'isDoneWithout';
  /** The process dies once so many of the events are committed. */
  diesAfter: number | null;
}

export interface WatchOptions {
  backfillOnFirstStartSeconds?: number;
  /** How far our clock is ahead of the service's, in seconds. */
  clockAheadSeconds?: number;
  staleAfterSeconds?: number;
}

/** A machine as the bridge watches it, over restarts. */
export class WatchedMachine {
  readonly events: SequencedEvent[] = [];
  logReads = 0;
  latestUpdateTime = 0;
  private tracked: TrackedMachine | undefined;
  private stored: TrackedMachine | undefined;
  private seen: Seen | null = null;

  constructor(
    private readonly service: SimulatedService,
    private readonly options: WatchOptions = {},
  ) {}

  /** Returns what the poll has published, and what asking again with the same answers would. */
  poll(poll: Poll): { published: SequencedEvent[]; again: SequencedEvent[] } {
    if (poll.isAfterRestart) this.restart();
    const now = this.service.updateTime(poll.minute) + (this.options.clockAheadSeconds ?? 60);
    const context = {
      now,
      staleAfterSeconds: this.options.staleAfterSeconds ?? Infinity,
      settleSeconds: SETTLE_SECONDS,
      backfillOnFirstStartSeconds: this.options.backfillOnFirstStartSeconds ?? 0,
    };
    const sighting = this.look(poll, context);
    if (sighting === null) return { published: [], again: [] };
    const derivation = deriveStateChanges(MACHINE, this.tracked, sighting, context);
    const { events, next } = derivation;
    if (poll.diesAfter !== null && poll.diesAfter < events.length) {
      const published = events.slice(0, poll.diesAfter);
      this.events.push(...published);
      this.stored = published.at(-1)?.after ?? this.stored;
      this.restart();
      return { published, again: [] };
    }
    this.events.push(...events);
    if (events.length > 0 || isWorthStoring(this.stored, next)) this.stored = next;
    this.tracked = next;
    const again = deriveStateChanges(MACHINE, next, sighting, context).events;
    return { published: events, again };
  }

  private look(poll: Poll, context: Parameters<typeof activityLogNeed>[3]): Sighting | null {
    const reading = this.service.reading(poll);
    if (reading === null) return { kind: 'lost', reason: 'noData' };
    this.latestUpdateTime = Math.max(this.latestUpdateTime, reading.lastUpdateTime);
    const request = activityLogNeed(this.tracked, reading, this.seen, context);
    let log: ActivityLog | null = null;
    if (request !== null) {
      this.logReads += 1;
      if (poll.log === 'isWaitedFor' && request.isForNews) return null;
      if (poll.log === 'answers') {
        log = { ...request, entries: this.service.log(request.from, poll) };
      }
    }
    const isUnread = request?.isForNews === true && log === null;
    this.seen = isUnread
      ? seenWithoutLog(reading, this.tracked, this.seen)
      : seenAfter(reading, log, this.seen);
    return { kind: 'reading', reading, log };
  }

  private restart(): void {
    this.seen = null;
    this.tracked = this.stored && parseTrackedMachine(JSON.parse(JSON.stringify(this.stored)));
    this.stored = this.tracked;
  }
}
