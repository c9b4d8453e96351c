import { type OwnedState } from '#libs/messaging';
import { type Derivation } from '../partition-writer.js';
import { type Entry } from '../waiting-entries.js';
import { AssignmentTable } from './assignment-table.js';
import {
  deriveAssignments,
  keyOf,
  type OfferedChange,
  placeOf,
  type StoredAssignment,
} from './derive-assignments.js';

/** A change as it waits to be written. */
export interface ChangeEntry extends Entry, OfferedChange {}

/** The assignments of one partition, as they are written and as machines' lists are drawn from them. */
export class PartitionAssignments {
  private table = new AssignmentTable(() => []);

  /** @param written told of each change once Kafka has what it brings */
  constructor(private readonly written: (entry: ChangeEntry) => void) {}

  listOf(machineId: string): readonly string[] {
    return this.table.listOf(machineId);
  }

  restored(state: OwnedState<StoredAssignment>): void {
    this.table = new AssignmentTable((machineId, orderId) => {
      const operations = state.get(keyOf(machineId, orderId));
      return typeof operations === 'object' ? operations : [];
    });
    for (const key of state.keys()) {
      const place = placeOf(key);
      if (place !== undefined) this.table.stands(place.machineId, place.orderId);
    }
  }

  derive(
    state: OwnedState<StoredAssignment>,
    entries: readonly ChangeEntry[],
  ): Derivation<StoredAssignment> {
    const { changes, applied } = deriveAssignments((key) => state.get(key), entries);
    return {
      changes,
      records: [],
      conclude: () => {
        for (const { machineId, orders } of applied) {
          for (const { orderId, operations } of orders) {
            this.table.changed(machineId, orderId, operations);
          }
        }
        for (const entry of entries) this.written(entry);
      },
    };
  }
}
