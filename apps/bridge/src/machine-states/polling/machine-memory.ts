import { type MachineInfo } from '#libs/cloud-client';
import {
  type Derivation,
  deriveStateChanges,
  type Sighting,
} from '../derivation/derive-state-changes.js';
import { type Freshness } from '../derivation/observation.js';
import { withoutTimesAhead } from '../derivation/times-ahead.js';
import {
  isWorthStoring,
  type Observation,
  type TrackedMachine,
} from '../derivation/tracked-machine.js';
import { type WatchContext } from './watch-context.js';

/** When the service answered, and when the latest update was seen first; epoch seconds of our clock. */
export type SightingTime = Pick<Freshness, 'now' | 'updateSeenAt'>;

/** The machines of one partition as Kafka has them. */
export interface StoredMachines {
  get(machineId: string): TrackedMachine | undefined;
  /** Resolves once Kafka has it; {@link get} shows it from then on. */
  publish(derivation: Derivation): Promise<void>;
}

/**
 * What is remembered of one machine. Kept here are the time of its latest update, which alone is not worth a
 * record in Kafka, and its observation, which is asked for all the time; the rest is read from what is stored
 * whenever it is needed, for there may be a hundred thousand of these.
 */
export class MachineMemory {
  private lastUpdateTime: number | null;
  private latestObservation: Observation | undefined;

  constructor(
    private readonly machineId: string,
    private readonly stored: StoredMachines,
    private readonly context: WatchContext,
  ) {
    const remembered = stored.get(machineId);
    this.lastUpdateTime = remembered?.lastUpdateTime ?? null;
    this.latestObservation = remembered?.observation;
  }

  /** Undefined until the first answer. */
  get tracked(): TrackedMachine | undefined {
    const stored = this.stored.get(this.machineId);
    if (stored === undefined) return undefined;
    const { lastUpdateTime } = this;
    return withoutTimesAhead({ ...stored, lastUpdateTime }, this.context.latestSeconds);
  }

  /** Of the latest reading, in epoch seconds. */
  get updatedAt(): number | null {
    return this.lastUpdateTime;
  }

  /** Undefined until the first answer. */
  get observation(): Observation | undefined {
    return this.latestObservation;
  }

  /**
   * Publishes first and remembers afterwards: what was not committed has not happened.
   *
   * @param at when it was seen: while Kafka is away that may be long ago
   */
  async settle(info: MachineInfo, sighting: Sighting, at: SightingTime): Promise<void> {
    const { metrics, settings, mostUnreadPeriods } = this.context;
    const before = this.tracked;
    const context = { ...settings.polling, ...at, mostUnreadPeriods };
    const derivation = deriveStateChanges(info, before, sighting, context);
    const { events, next } = derivation;
    if (events.length > 0 || isWorthStoring(before, next)) await this.stored.publish(derivation);
    this.lastUpdateTime = next.lastUpdateTime;
    this.latestObservation = next.observation;
    for (const { event } of events) metrics.published(event.type);
  }
}
