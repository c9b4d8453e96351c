import { ManualClock } from '#libs/clock';
import type {
  ActivityLogEntry,
  HttpAnswer,
  MachineCloudClient,
  MachineStateReading,
} from '#libs/cloud-client';
import type { MachineStateRecord } from '#libs/contracts';
import { parseTrackedMachine } from '../../derivation/parse-tracked-machine.js';
import type { SequencedEvent } from '../../derivation/state-events.js';
import { MACHINE } from '../../derivation/testing/tracked-periods.js';
import { stateRecord, type TrackedMachine } from '../../derivation/tracked-machine.js';
import { ActivityLogReader } from '../activity-log-reader.js';
import { MachineWatch, type StoredMachines } from '../machine-watch.js';
import { asSeenUntil } from '../partition-watch.js';
import { PollHealth } from '../poll-health.js';
import { PollingMetrics } from '../polling-metrics.js';
import { WatchContext } from '../watch-context.js';
import { bridgeSettings } from '../../../platform/testing/bridge-settings.js';
import { type Conditions, SETTLE_SECONDS, type SimulatedService } from './simulated-service.js';

/** A log that `fails` may be answered later; the others are answers without content. */
export type LogConduct = 'answers' | 'fails' | 'forbidden' | 'notFound' | 'noData' | 'empty';

/** How the service answers one poll, and what happens to the process. */
export interface Poll extends Conditions {
  isAfterRestart: boolean;
  /** How much longer SETTLE_SECONDS is in the process that starts with this poll than the service needs. */
  settlesLaterBySeconds: number;
  /** A number is the lag in minutes of a replica that answers; a `removed` machine is not in the directory. */
  state: 'answers' | 'fails' | 'noData' | 'removed' | number;
  log: LogConduct;
  /** The process dies once this many of the events are committed. */
  diesAfter: number | null;
  /** Seconds by which our clock is set before the poll, ahead or back. */
  clockStepSeconds?: number;
  /** Changes the answers on their way. */
  garble?: {
    state: (reading: MachineStateReading) => MachineStateReading;
    log: (entries: ActivityLogEntry[]) => ActivityLogEntry[];
  };
}

export interface WatchOptions {
  backfillOnFirstStartSeconds?: number;
  /** How far our clock is ahead of the service's, in seconds. */
  clockAheadSeconds?: number;
  staleAfterSeconds?: number;
  settleSeconds?: number;
  /** Whether minutes without data have a state that the interface lacks: answers with it cannot be read. */
  hasOtherStates?: boolean;
  /** Whether the partition has other machines, which are always observed. */
  isAmongOthers?: boolean;
}

/** A machine watched by the real {@link MachineWatch}, over restarts, with all that is published. */
export class WatchedMachine {
  readonly events: SequencedEvent[] = [];
  /** Answers of the service so far. */
  readonly readings: MachineStateReading[] = [];
  readonly logEntries: ActivityLogEntry[] = [];
  logReads = 0;
  latestUpdateTime = 0;
  private readonly clock = new ManualClock();
  private clockAheadSeconds: number;
  private readonly context: WatchContext;
  private watch: MachineWatch;
  /** Stored in Kafka. */
  private stored: string | undefined;
  /** Stored by the machine's partition. */
  private seenUntil: number | null = null;
  private seenUntilWrittenAt = 0;
  private current: Poll | undefined;
  private diesAfter: number | null = null;

  constructor(
    private readonly service: SimulatedService,
    private readonly options: WatchOptions = {},
  ) {
    const { backfillOnFirstStartSeconds = 0, staleAfterSeconds = 300 } = options;
    this.clockAheadSeconds = options.clockAheadSeconds ?? 60;
    const settings = bridgeSettings({
      STALE_AFTER_SECONDS: String(staleAfterSeconds),
      BACKFILL_ON_FIRST_START_SECONDS: String(backfillOnFirstStartSeconds),
    });
    const port: Pick<MachineCloudClient, 'getMachineState' | 'getMachineActivityLog'> = {
      getMachineState: () => Promise.resolve(this.state()),
      getMachineActivityLog: (query) => Promise.resolve(this.log(query)),
    };
    // Whole seconds only at the edge to HTTP.
    const client = port as MachineCloudClient;
    this.context = new WatchContext(
      settings,
      this.clock,
      client,
      new PatientReader(client, settings, this.clock),
      new PollHealth(this.clock),
      new PollingMetrics(),
      { forgetReasons: () => undefined },
    );
    settings.polling.settleSeconds = options.settleSeconds ?? SETTLE_SECONDS;
    this.watch = this.started();
  }

  /** On `machine.states.v1`; undefined before the first event. */
  get record(): MachineStateRecord | undefined {
    return this.tracked === undefined ? undefined : (stateRecord(this.tracked) ?? undefined);
  }

  /** Returns the events of the poll, and those of a repetition with the same answers. */
  async poll(poll: Poll): Promise<{ published: SequencedEvent[]; again: SequencedEvent[] }> {
    if (poll.isAfterRestart) {
      const { settleSeconds = SETTLE_SECONDS } = this.options;
      this.context.settings.polling.settleSeconds = settleSeconds + poll.settlesLaterBySeconds;
      this.watch = this.started();
    }
    this.current = poll;
    this.diesAfter = poll.diesAfter;
    const { clockStepSeconds = 0 } = poll;
    this.clockAheadSeconds += clockStepSeconds;
    this.clock.shiftWallClock(clockStepSeconds);
    this.clock.set(this.service.updateTime(poll.minute) + this.clockAheadSeconds);
    const published = await this.turn();
    const again = await this.turn();
    this.keepSeenUntil(poll);
    return { published, again };
  }

  private keepSeenUntil({ minute }: Poll): void {
    const { isAmongOthers } = this.options;
    const now = this.clock.nowSeconds();
    if (now - this.seenUntilWrittenAt < this.context.settings.polling.staleAfterSeconds) return;
    const mine = this.watch.observation === 'ok' ? this.watch.updatedAt : null;
    const others = isAmongOthers === true ? this.service.updateTime(minute) : null;
    const earliest = Math.min(mine ?? Infinity, others ?? Infinity);
    if (earliest !== Infinity) this.seenUntil = earliest;
    this.seenUntilWrittenAt = now;
  }

  private async turn(): Promise<SequencedEvent[]> {
    const before = this.events.length;
    try {
      if (this.current?.state === 'removed') this.watch.markRemoved();
      await (await this.watch.poll()).conclude();
      if (this.watch.hasEnded) this.watch = this.started();
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
      this.watch = this.started();
    }
    return this.events.slice(before);
  }

  private get tracked(): TrackedMachine | undefined {
    return this.stored === undefined ? undefined : parseTrackedMachine(JSON.parse(this.stored));
  }

  private started(): MachineWatch {
    const { seenUntil } = this;
    const stored: StoredMachines = {
      isOverdue: () => false,
      get: () => asSeenUntil(this.tracked, seenUntil),
      publishDerivation: ({ events, next }) => this.commit(events, next),
    };
    return new MachineWatch(MACHINE, stored, this.context, new AbortController().signal);
  }

  private commit(events: readonly SequencedEvent[], next: TrackedMachine): Promise<void> {
    const { diesAfter } = this;
    const isDying = diesAfter !== null && diesAfter < events.length;
    const committed = isDying ? events.slice(0, diesAfter) : events;
    this.events.push(...committed);
    const after = isDying ? committed.at(-1)?.after : next;
    if (after !== undefined) this.stored = JSON.stringify(after);
    if (!isDying) return Promise.resolve();
    this.diesAfter = null;
    return Promise.reject(new Crash());
  }

  private state(): HttpAnswer<MachineStateReading> {
    const { current } = this;
    if (current === undefined || current.state === 'fails') return FAILED;
    if (current.state === 'noData') return { kind: 'noData' };
    const behind = typeof current.state === 'number' ? current.state : 0;
    const minute = Math.max(0, current.minute - behind);
    const reading = this.service.reading({ ...current, minute });
    if (reading === null) {
      return this.options.hasOtherStates === true ? FAILED : { kind: 'noData' };
    }
    const data = current.garble?.state(reading) ?? reading;
    this.readings.push(data);
    this.latestUpdateTime = Math.max(this.latestUpdateTime, data.lastUpdateTime);
    return { kind: 'data', data };
  }

  private log({
    startTime,
    endTime,
  }: {
    startTime: number;
    endTime: number;
  }): HttpAnswer<ActivityLogEntry[]> {
    this.logReads += 1;
    switch (this.current?.log) {
      case undefined:
      case 'fails':
        return FAILED;
      case 'forbidden':
        return { kind: 'unauthorised', status: 403 };
      case 'notFound':
        return { kind: 'rejected', status: 404, detail: 'not found' };
      case 'noData':
        return { kind: 'noData' };
      case 'empty':
        return { kind: 'data', data: [] };
      case 'answers': {
        const entries = this.service.log(startTime, this.current);
        const asked = entries.filter((entry) => entry.startTime < endTime);
        const data = this.current.garble?.log(asked) ?? asked;
        this.logEntries.push(...data);
        return { kind: 'data', data };
      }
    }
  }
}

const FAILED = {
  kind: 'retry',
  afterMs: null,
  error: { message: 'status 503', status: 503 },
} as unknown as Extract<HttpAnswer<never>, { kind: 'retry' }>;

class Crash extends Error {}

/** Reads the log each time: the breaker is for a fleet, and one machine is no fleet. */
class PatientReader extends ActivityLogReader {
  private readonly given: ConstructorParameters<typeof ActivityLogReader>;

  constructor(...given: ConstructorParameters<typeof ActivityLogReader>) {
    super(...given);
    this.given = given;
  }

  override readWindows(...query: Parameters<ActivityLogReader['readWindows']>) {
    return new ActivityLogReader(...this.given).readWindows(...query);
  }
}
