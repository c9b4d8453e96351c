import {
  type InboundMessage,
  type OwnedState,
  PartedMessages,
  type PartitionOwnership,
} from '#libs/messaging';
import { type PartitionHolder } from '../owned-partitions.js';
import { type PartitionWork } from '../partition-writer.js';
import { QueuePartition } from '../queue-partition.js';
import { type AssignmentChange, hasOwnKey } from './assignment-change.js';
import { positionInLog, type StoredAssignment } from './derive-assignments.js';
import { type ChangeEntry, PartitionAssignments } from './partition-assignments.js';

/** Changes under way: beyond that they wait in what Kafka's client has fetched, which is bounded by itself. */
const MOST_UNDER_WAY = 2500;

/** A message, and the changes it tells of. */
export interface ReadChanges {
  message: InboundMessage;
  changes: readonly AssignmentChange[];
}

/** One partition of changes: each ends by itself, whatever else its record tells. */
export class ChangesPartition implements PartitionHolder<StoredAssignment> {
  private readonly assignments: PartitionAssignments;
  private readonly queue: QueuePartition<StoredAssignment, ChangeEntry>;
  private parted: { messages: PartedMessages; ownership: PartitionOwnership } | undefined;

  /** @param written told of each change once Kafka has what it brings */
  constructor(
    topicPrefix: string,
    written: (entry: ChangeEntry) => void,
    refuse: PartitionWork<StoredAssignment, ChangeEntry>['refuse'],
  ) {
    this.assignments = new PartitionAssignments(written);
    const work = {
      restored: (state: OwnedState<StoredAssignment>) => {
        this.assignments.restored(state);
      },
      derive: (state: OwnedState<StoredAssignment>, entries: readonly ChangeEntry[]) =>
        this.assignments.derive(state, entries),
      refuse,
    };
    const hold = ({ message, change }: ChangeEntry): boolean => hasOwnKey(message.key, change);
    this.queue = new QueuePartition(work, { topicPrefix, hold });
  }

  get isIdle(): boolean {
    return this.queue.isIdle;
  }

  own(state: OwnedState<StoredAssignment>): void {
    this.queue.own(state);
  }

  listOf(machineId: string): readonly string[] {
    return this.assignments.listOf(machineId);
  }

  /** Takes changes in the order of their messages' offsets. Resolves once others may come. */
  async take(read: readonly ReadChanges[]): Promise<void> {
    const [first] = read;
    if (first === undefined) return;
    const messages = this.messagesOf(first.message.ownership);
    const entries = read.flatMap(({ message, changes }) => {
      const { offset } = message;
      return messages.take(message, changes).map(({ part, told, index }): ChangeEntry => {
        return { message: part, position: positionInLog(offset, index), change: told };
      });
    });
    this.queue.take(entries);
    await this.queue.room();
    await messages.room();
  }

  private messagesOf(ownership: PartitionOwnership): PartedMessages {
    if (this.parted?.ownership !== ownership) {
      this.parted = { messages: new PartedMessages(MOST_UNDER_WAY), ownership };
    }
    return this.parted.messages;
  }
}
