import { Injectable, Logger } from '@nestjs/common';
import { type FollowUp, dueFollowUps, Plant } from '../plant/index.js';
import { PlantFeed } from './plant-feed.js';
import { EntryWriter } from './entry-writer.js';

/**
 * Sends the follow-ups of open-ended reasons. They are derived from the topics alone: a restart or a second server
 * finds them again, and nobody does once they are on their topic. Two servers that send one at once use the same id:
 * the service receives it twice, which changes nothing, and terminals show it once.
 */
@Injectable()
export class FollowUps {
  private readonly logger = new Logger('FollowUps');
  private hasCheckedAll = false;

  constructor(
    private readonly plant: Plant,
    private readonly feed: PlantFeed,
    private readonly writer: EntryWriter,
  ) {}

  /** @param machineIds machines that have changed */
  sendDueFollowUps(machineIds: ReadonlySet<string>, now: number): void {
    // nothing is lost while Kafka is unreachable: all machines are checked when it answers again
    if (this.feed.link.state !== 'up') {
      this.hasCheckedAll = false;
      return;
    }
    const ids = this.hasCheckedAll ? machineIds : this.plant.machines.keys();
    this.hasCheckedAll = true;
    const isKnown = (entryId: string): boolean => this.writer.isEntryKnown(entryId);
    for (const machineId of ids) {
      const machine = this.plant.machines.get(machineId);
      if (machine === undefined || machine.entries.length === 0) continue;
      const due = dueFollowUps(machine, this.plant.evaluationOf(machine, now), now, isKnown);
      for (const followUp of due) void this.sendFollowUp(followUp, now);
    }
  }

  private async sendFollowUp({ entryId, open, endTime }: FollowUp, madeAt: number): Promise<void> {
    const { machineId, reasonId, startTime, operator } = open;
    try {
      const entry = { entryId, machineId, reasonId, startTime, endTime };
      await this.writer.writeEntry(entry, { station: open.station ?? '', operator, madeAt });
      this.writer.written.followUps += 1;
      const msg =
        endTime === null ? 'a reason goes on' : 'a reason has ended: its machine runs again';
      this.logger.log({ msg, machineId, entryId });
    } catch (error) {
      // the producer keeps retrying; after a restart the follow-up is due again
      const msg = 'what follows from a reason is late';
      this.logger.warn({ msg, machineId, entryId, error: String(error) });
    }
  }
}
