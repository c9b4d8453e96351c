import { Inject, Injectable, Logger } from '@nestjs/common';
import { type BridgeSettings } from '#libs/config';
import { type OwnedState } from '#libs/messaging';
import { type AnsweredMessage, CommandOutcomes } from '../../command-delivery/index.js';
import { BRIDGE_SETTINGS } from '../../platform/index.js';
import { WorkOrderLists } from '../lists/work-order-lists.js';
import { OwnedPartitions } from '../owned-partitions.js';
import { type PartitionWork } from '../partition-writer.js';
import { type Refusal, refusalResult } from '../refusal.js';
import { QueuePartition } from '../queue-partition.js';
import { hasOwnKey } from './assignment-change.js';
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
  private readonly partitions: OwnedPartitions<
    StoredAssignment,
    QueuePartition<StoredAssignment, ChangeEntry>
  >;

  constructor(
    @Inject(BRIDGE_SETTINGS) { kafka: { topicPrefix } }: BridgeSettings,
    private readonly lists: WorkOrderLists,
    private readonly outcomes: CommandOutcomes,
    private readonly originals: OriginalMessages,
  ) {
    const queues = {
      topicPrefix,
      hold: ({ message, change }: ChangeEntry) => hasOwnKey(message.key, change),
    };
    this.partitions = new OwnedPartitions(() => new QueuePartition(this.work(), queues));
  }

  /** Takes over a partition that has just been restored. */
  own(state: OwnedState<StoredAssignment>): void {
    this.partitions.own(state);
  }

  /** Takes changes of one partition in the order of their offsets. */
  take(partition: number, entries: readonly ChangeEntry[]): void {
    this.partitions.of(partition).take(entries);
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
      refuse: (entry, refusal) => {
        this.refuse(entry, refusal);
      },
    };
  }

  private setList(assignments: PartitionAssignments, entry: ChangeEntry): void {
    const { machineId } = entry.change;
    const answers = this.outcomes.answersTo('work-order-list', this.answeredBy(entry), 1, []);
    const workingOrders = (): readonly string[] => assignments.listOf(machineId);
    this.lists.set({ machineId, workingOrders, cumulative: true }, answers);
  }

  /** Too large it can only be where the topics' limits differ: Kafka has taken the change itself. */
  private refuse(entry: ChangeEntry, refusal: Refusal): void {
    const { message, change } = entry;
    const { partition, offset } = message;
    const { why, error } = refusal;
    const msg = why === 'defect' ? 'change not handled' : 'change larger than its topic takes';
    this.logger.error({ msg, partition, offset, err: error });
    const what = 'what its orders change on the machine';
    this.outcomes.answersTo('work-order-list', this.answeredBy(entry), 0, [
      refusalResult(refusal, what, change.machineId),
    ]);
  }

  /** The message that asked for the change. */
  private answeredBy({ message, change }: ChangeEntry): AnsweredMessage {
    const { messageId } = change.source;
    return {
      message,
      messageId,
      origin: this.originals.of(change),
      namesOthers: true,
      isUntold: change.isPart === true,
    };
  }
}
