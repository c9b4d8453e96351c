import { Injectable, Logger } from '@nestjs/common';
import { type FollowUp, dueFollowUps, Plant } from '../plant/index.js';
import { PlantFeed } from './plant-feed.js';
import { EntryWriter } from './entry-writer.js';

/**
 * Sends what follows from open-ended reasons: the same with its end, when its machine runs again; the same anew, when
 * the reason for an earlier stop has ended it. What is due follows from the topics alone: it is found again after a
 * restart, by another terminal beside this one, and by nobody once it is on its topic. Two that send it at once send
 * the same under the same id: the service receives the same twice, which changes nothing, and terminals show it as one.
 */
@Injectable()
export class FollowUps {
  private readonly logger = new Logger('FollowUps');
  private hasLookedAtAll = false;

  constructor(
    private readonly plant: Plant,
    private readonly feed: PlantFeed,
    private readonly writer: EntryWriter,
  ) {}

  /** @param machineIds those of which something has come */
  sendDue(machineIds: ReadonlySet<string>, now: number): void {
    // While Kafka is away nothing is lost: all are looked at when it is back.
    if (this.feed.link.state !== 'up') {
      this.hasLookedAtAll = false;
      return;
    }
    const ids = this.hasLookedAtAll ? machineIds : this.plant.machines.keys();
    this.hasLookedAtAll = true;
    const isKnown = (entryId: string): boolean => this.writer.isKnown(entryId);
    for (const machineId of ids) {
      const machine = this.plant.machines.get(machineId);
      if (machine === undefined || machine.entries.length === 0) continue;
      const due = dueFollowUps(machine, this.plant.evaluate(machine, now), now, isKnown);
      for (const followUp of due) void this.send(followUp, now);
    }
  }

  private async send({ entryId, open, endTime }: FollowUp, madeAt: number): Promise<void> {
    const { machineId, reasonId, startTime, operator } = open;
    try {
      const entry = { entryId, machineId, reasonId, startTime, endTime };
      await this.writer.writeEntry(entry, { station: open.station ?? '', operator, madeAt });
      this.writer.written.followUps += 1;
      const msg =
        endTime === null ? 'a reason goes on' : 'a reason has ended: its machine runs again';
      this.logger.log({ msg, machineId, entryId });
    } catch (error) {
      // Kafka goes on being offered it; after a restart it is due again.
      const msg = 'what follows from a reason is late';
      this.logger.warn({ msg, machineId, entryId, error: String(error) });
    }
  }
}
