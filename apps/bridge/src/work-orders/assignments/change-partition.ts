import { type InboundMessage, type OwnedState } from '#libs/messaging';
import { type PartitionHolder } from '../owned-partitions.js';
import { type Derivation, type PartitionWork, PartitionWriter } from '../partition-writer.js';
import { hasOwnKey } from './assignment-change.js';
import { type StoredAssignment } from './derive-assignments.js';
import { FinishedChanges } from './finished-changes.js';
import { type ChangeEntry } from './partition-assignments.js';

type ChangeWork = PartitionWork<StoredAssignment, ChangeEntry>;

/** One partition of changes: they are written to the assignments, and once they are final, their tombstones with later ones. */
export class ChangePartition implements PartitionHolder<StoredAssignment> {
  private readonly finished: FinishedChanges;
  private readonly writer: PartitionWriter<StoredAssignment, ChangeEntry>;

  /** @param topic of the changes, its full name */
  constructor(work: ChangeWork, topic: string) {
    this.writer = new PartitionWriter({
      ...work,
      derive: (state, entries) => this.withTombstones(state, work.derive(state, entries)),
    });
    this.finished = new FinishedChanges(topic, () => {
      this.writer.flush();
    });
  }

  get isIdle(): boolean {
    return this.writer.isIdle;
  }

  own(state: OwnedState<StoredAssignment>): void {
    this.finished.ownedUntil(state.lost);
    this.writer.own(state);
  }

  take(entries: readonly ChangeEntry[]): void {
    for (const { message, change } of entries) {
      if (hasOwnKey(message.key, change)) message.onFinished = this.bury;
    }
    this.writer.take(entries);
  }

  /** One function for all messages. */
  private readonly bury = ({ key }: InboundMessage): void => {
    if (key !== null) this.finished.add(key);
  };

  private withTombstones(
    { partition }: OwnedState<StoredAssignment>,
    derivation: Derivation<StoredAssignment>,
  ): Derivation<StoredAssignment> {
    const tombstones = this.finished.tombstones(partition);
    if (tombstones.length === 0) return derivation;
    return {
      changes: derivation.changes,
      records: [...derivation.records, ...tombstones],
      conclude: () => {
        this.finished.drop(tombstones.length);
        derivation.conclude();
      },
    };
  }
}
