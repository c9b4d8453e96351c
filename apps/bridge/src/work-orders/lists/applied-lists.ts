import { type PartitionOwnership } from '#libs/messaging';

/** A list as the service last took it. */
export interface AppliedList {
  workingOrders: readonly string[];
  /** Epoch seconds. */
  appliedAt: number;
}

interface StandingList extends AppliedList {
  /** Of the partition its message came by; undefined once something else was sent that may have arrived. */
  ownership: PartitionOwnership | undefined;
}

/** The lists the service has taken from this process, and which of them certainly still stand. */
export class AppliedLists {
  private readonly lists = new Map<string, StandingList>();

  of(machineId: string): AppliedList | undefined {
    return this.lists.get(machineId);
  }

  /** A call begins for the machine: until it is answered well nobody knows what stands. */
  doubt(machineId: string): void {
    const known = this.lists.get(machineId);
    if (known !== undefined) known.ownership = undefined;
  }

  apply(machineId: string, list: AppliedList, ownership: PartitionOwnership | undefined): void {
    this.lists.set(machineId, { ...list, ownership });
  }

  /**
   * When the service took exactly these orders, if nobody can have set others since: the machine's
   * partition has been this process's all along. Epoch seconds.
   */
  standsSince(
    machineId: string,
    workingOrders: readonly string[],
    ownership: PartitionOwnership,
  ): number | undefined {
    const known = this.lists.get(machineId);
    if (known?.ownership !== ownership) return undefined;
    return isSame(known.workingOrders, workingOrders) ? known.appliedAt : undefined;
  }
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((order, index) => order === other[index]);
}
