import { type PartitionOwnership } from '#libs/messaging';

/** A list as the service last took it. */
export interface AppliedList {
  workingOrders: readonly string[];
  /** Epoch seconds. */
  appliedAt: number;
}

/** What must have been this process's all along, so that nobody else can have set a machine's list. */
export interface Custody {
  /** Of the partition the list's message came by. */
  ownership: PartitionOwnership;
  /** Of the partition that replacement lists of the machine come through. */
  soleSetterUntil: AbortSignal;
}

interface StandingList extends AppliedList {
  /** Undefined where it may be another's, and once something else was sent that may have arrived. */
  custody: Custody | undefined;
}

/** The lists the service has taken from this process, and which of them certainly still stand. */
export class AppliedLists {
  private readonly lists = new Map<string, StandingList>();

  of(machineId: string): AppliedList | undefined {
    const known = this.lists.get(machineId);
    return known && { workingOrders: known.workingOrders, appliedAt: known.appliedAt };
  }

  /** A call begins for the machine: until it is answered well nobody knows what stands. */
  doubt(machineId: string): void {
    const known = this.lists.get(machineId);
    if (known !== undefined) known.custody = undefined;
  }

  /** @param appliedAt epoch seconds */
  apply(
    machineId: string,
    workingOrders: readonly string[],
    appliedAt: number,
    custody: Custody | undefined,
  ): void {
    const known = this.lists.get(machineId);
    if (known === undefined) {
      this.lists.set(machineId, { workingOrders, appliedAt, custody });
      return;
    }
    // Written over: an object that is replaced after minutes is among the garbage that is dearest to collect.
    known.workingOrders = workingOrders;
    known.appliedAt = appliedAt;
    known.custody = custody;
  }

  /**
   * When the service took exactly these orders, if nobody can have set others since: the machine's
   * partitions have been this process's all along. Epoch seconds.
   */
  standsSince(
    machineId: string,
    workingOrders: readonly string[],
    custody: Custody | undefined,
  ): number | undefined {
    const known = this.lists.get(machineId);
    if (known === undefined || !isUnbroken(known.custody, custody)) return undefined;
    return isSame(known.workingOrders, workingOrders) ? known.appliedAt : undefined;
  }
}

function isUnbroken(then: Custody | undefined, now: Custody | undefined): boolean {
  if (then === undefined || now === undefined) return false;
  return then.ownership === now.ownership && then.soleSetterUntil === now.soleSetterUntil;
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((order, index) => order === other[index]);
}
