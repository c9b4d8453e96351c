import { Inject, Injectable, Logger } from '@nestjs/common';
import { type BridgeSettings } from '#libs/config';
import { type OwnedState } from '#libs/messaging';
import { type AnsweredMessage, CommandOutcomes } from '../../command-delivery/index.js';
import { BRIDGE_SETTINGS } from '../../platform/index.js';
import { WorkOrderLists } from '../lists/work-order-lists.js';
import { OwnedPartitions } from '../owned-partitions.js';
import { type Refusal, refusalResult } from '../refusal.js';
import { ChangesPartition, type ReadChanges } from './changes-partition.js';
import { type StoredAssignment } from './derive-assignments.js';
import { refusalRecord } from '../orders/order-refusals.js';
import { type ChangeEntry } from './partition-assignments.js';

/**
 * Which operations stand on which machine, by the partition its changes come through. Each change is
 * written first; then the machine's list is set, as it is by the time it is sent, and the message that
 * asked for the change is answered.
 */
@Injectable()
export class Assignments {
  private readonly logger = new Logger('Assignments');
  private readonly topicPrefix: string;
  private readonly partitions: OwnedPartitions<StoredAssignment, ChangesPartition>;

  constructor(
    @Inject(BRIDGE_SETTINGS) { kafka }: BridgeSettings,
    private readonly lists: WorkOrderLists,
    private readonly outcomes: CommandOutcomes,
  ) {
    const { topicPrefix } = kafka;
    this.topicPrefix = topicPrefix;
    this.partitions = new OwnedPartitions(() => {
      const partition: ChangesPartition = new ChangesPartition(
        topicPrefix,
        (entry) => {
          this.setList(partition, entry);
        },
        (entry, refusal) => {
          this.refuse(entry, refusal);
        },
      );
      return partition;
    });
  }

  /** Takes over a partition that has just been restored. */
  own(state: OwnedState<StoredAssignment>): void {
    this.partitions.own(state);
  }

  /** Takes changes of one partition in the order of their messages' offsets. Resolves once others may come. */
  async take(read: readonly ReadChanges[]): Promise<void> {
    const [first] = read;
    if (first !== undefined) await this.partitions.of(first.message.partition).take(read);
  }

  private setList(partition: ChangesPartition, entry: ChangeEntry): void {
    const { machineId } = entry.change;
    const answers = this.outcomes.answersTo('work-order-list', this.answeredBy(entry), 1, []);
    const workingOrders = (): readonly string[] => partition.listOf(machineId);
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
      origin: {
        source: change.source,
        refusal: (faults) => refusalRecord(this.topicPrefix, change, faults),
      },
      namesOthers: true,
      isUntold: change.isPart === true,
    };
  }
}
