import { type MachineInfo } from '#libs/cloud-client';
import {
  type Derivation,
  deriveStateChanges,
  type Sighting,
} from '../derivation/derive-state-changes.js';
import { isWorthStoring, type TrackedMachine } from '../derivation/tracked-machine.js';
import { type WatchContext } from './watch-context.js';

export type Publish = (derivation: Derivation) => Promise<void>;

/** What is remembered of one machine, here and in Kafka. */
export class MachineMemory {
  private stored: TrackedMachine | undefined;

  constructor(
    private latest: TrackedMachine | undefined,
    private readonly publish: Publish,
    private readonly context: WatchContext,
  ) {
    this.stored = latest;
  }

  /** Undefined until the first answer. */
  get tracked(): TrackedMachine | undefined {
    return this.latest;
  }

  /** Publishes first and remembers afterwards: what was not committed has not happened. */
  async settle(info: MachineInfo, sighting: Sighting, updateSeenAt?: number): Promise<void> {
    const { clock, metrics, settings } = this.context;
    const derivation = deriveStateChanges(info, this.latest, sighting, {
      ...settings.polling,
      now: clock.nowSeconds(),
      ...(updateSeenAt === undefined ? {} : { updateSeenAt }),
    });
    if (derivation.events.length > 0 || isWorthStoring(this.stored, derivation.next)) {
      await this.publish(derivation);
      this.stored = derivation.next;
    }
    this.latest = derivation.next;
    for (const { event } of derivation.events) metrics.published(event.type);
  }
}
