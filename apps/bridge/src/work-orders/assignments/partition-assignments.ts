import { type OwnedState } from '#libs/messaging';
import { type Derivation, type Entry } from '../partition-writer.js';
import { AssignmentTable } from './assignment-table.js';
import {
  deriveAssignments,
  type OfferedChange,
  placeOf,
  type StoredAssignment,
} from './derive-assignments.js';

/** A change as it waits to be written. */
export interface ChangeEntry extends Entry, OfferedChange {}

/** The assignments of one partition, as they are written and as machines' lists are drawn from them. */
export class PartitionAssignments {
  private table = new AssignmentTable();

  /** @param written told of each change once Kafka has what it brings */
  constructor(private readonly written: (entry: ChangeEntry) => void) {}

  listOf(machineId: string): readonly string[] {
    return this.table.listOf(machineId);
  }

  restored(state: OwnedState<StoredAssignment>): void {
    this.table = new AssignmentTable();
    for (const [key, operations] of state.entries()) {
      const place = placeOf(key);
      if (place === undefined || typeof operations === 'number') continue;
      this.table.assign(place.machineId, { orderId: place.orderId, operations });
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
          for (const order of orders) this.table.assign(machineId, order);
        }
        for (const entry of entries) this.written(entry);
      },
    };
  }
}
