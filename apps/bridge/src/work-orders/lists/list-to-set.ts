import { type WorkOrderAssignment } from '#libs/contracts';
import { type Precedence } from '../../delivery/index.js';

/** A list to set, as it waits. */
export interface ListToSet {
  readonly machineId: string;
  /** Asked for when it is sent: what it was when the message came may be outdated by then. */
  workingOrders(): readonly string[];
  /** What it was when it was sent last; it may be another one by the time that is answered. */
  sent?: readonly string[] | undefined;
  /** Epoch seconds, where the sender says it; a list issued before the last one applied is superseded. */
  readonly issuedAt?: number | undefined;
  /** Where it took the place of one that said when it was issued: what is older than that is older than this. */
  notOlderThan?: number | undefined;
  /** Drawn from the ledger: a later one says all that an earlier one does, and applying it applies both. */
  readonly cumulative: boolean;
}

/** A list as a message has it. */
export class ReplacementList implements ListToSet {
  readonly cumulative = false;
  sent: readonly string[] | undefined = undefined;
  notOlderThan: number | undefined = undefined;

  constructor(private readonly assignment: WorkOrderAssignment) {}

  get machineId(): string {
    return this.assignment.machineId;
  }

  get issuedAt(): number | undefined {
    return this.assignment.issuedAt;
  }

  workingOrders(): readonly string[] {
    return this.assignment.workingOrders;
  }
}

/**
 * What becomes of a machine's list that waits when another one comes. One that says when it was issued does not
 * stand for one that does not say so if it may turn out to be outdated itself: then neither would be sent.
 *
 * @param appliedIssuedAt of the last list applied to the machine, where that said so
 * @param isCalled another list is under way, and may be applied before these
 */
export function precedenceOf(
  older: ListToSet,
  younger: ListToSet,
  appliedIssuedAt: number | undefined,
  isCalled: boolean,
): Precedence {
  if (older.cumulative && younger.cumulative) return 'both';
  if (isOlder(younger, issuedOf(older))) return 'older';
  const mayBeOutdated = isCalled || isOlder(younger, appliedIssuedAt);
  return older.issuedAt === undefined && younger.issuedAt !== undefined && mayBeOutdated
    ? 'apart'
    : 'younger';
}

/** When it was issued, or the latest time it was certainly not issued before. */
export function issuedOf({ issuedAt, notOlderThan }: ListToSet): number | undefined {
  return issuedAt ?? notOlderThan;
}

/** Whether a list was issued before another one; without both times the later to come is the newer. */
export function isOlder({ issuedAt }: ListToSet, than: number | undefined): boolean {
  return issuedAt !== undefined && than !== undefined && issuedAt < than;
}

/** Bytes of the list in a request, near enough. */
export function sizeOf(list: ListToSet): number {
  const FRAME = 48;
  let size = FRAME + list.machineId.length;
  for (const order of list.workingOrders()) size += order.length + 3;
  return size;
}
