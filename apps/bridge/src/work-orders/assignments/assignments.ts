import { Injectable, Logger } from '@nestjs/common';
import { type OwnedState } from '#libs/messaging';
import { CommandOutcomes } from '../../command-delivery/index.js';
import { WorkOrderLists } from '../lists/work-order-lists.js';
import { type PartitionWork } from '../partition-writer.js';
import { PartitionWriters } from '../partition-writers.js';
import { type StoredAssignment } from './derive-assignments.js';
import { OriginalMessages } from './original-messages.js';
import { type ChangeEntry, PartitionAssignments } from './partition-assignments.js';

/**
 * Which operations stand on which machine, by the partition its changes come through. Each change is
 * written first; then the machine's list is set, as it is by the time it is sent, and the message that
 * asked for the change is answered.
 */
@Injectable()
export class Assignments {
  private readonly logger = new Logger('Assignments');
  private readonly writers = new PartitionWriters<StoredAssignment, ChangeEntry>(() => this.work());

  constructor(
    private readonly lists: WorkOrderLists,
    private readonly outcomes: CommandOutcomes,
    private readonly originals: OriginalMessages,
  ) {}

  /** Takes over a partition that has just been restored. */
  own(state: OwnedState<StoredAssignment>): void {
    this.writers.own(state);
  }

  /** Takes changes of one partition in the order of their offsets. */
  take(partition: number, entries: readonly ChangeEntry[]): void {
    this.writers.take(partition, entries);
  }

  private work(): PartitionWork<StoredAssignment, ChangeEntry> {
    const assignments = new PartitionAssignments((entry) => {
      this.setList(assignments, entry);
    });
    return {
      restored: (state) => {
        assignments.restored(state);
      },
      derive: (state, entries) => assignments.derive(state, entries),
      tooLarge: ({ message }) => {
        // Larger than the change itself, which Kafka has taken: only when the topics' limits differ.
        const { partition, offset } = message;
        this.logger.error({ msg: 'change larger than its topic takes', partition, offset });
        message.fail(new Error('larger than the topic of assignments takes'));
      },
    };
  }

  private setList(assignments: PartitionAssignments, { message, change }: ChangeEntry): void {
    const { machineId, source } = change;
    const origin = this.originals.of(change);
    const answered = { message, messageId: source.messageId, origin, namesOthers: true };
    const answers = this.outcomes.answersTo('work-order-list', answered, 1, []);
    const workingOrders = (): readonly string[] => assignments.listOf(machineId);
    this.lists.set({ machineId, workingOrders, cumulative: true }, answers);
  }
}
