import { Inject, Injectable, Logger } from '@nestjs/common';
import { Clock } from '#libs/clock';
import { MachineCloudClient } from '#libs/cloud-client';
import type { BridgeSettings } from '#libs/config';
import { CallSlots } from '#libs/delivery';
import {
  type Admission,
  type CallAnswer,
  type Command,
  CommandDispatcher,
  CommandOutcomes,
  GO,
  type Precede,
  type Precedence,
  type SetList,
  type TracedPermit,
} from '../../delivery/index.js';
import { FlowControls } from '../../flow-control/index.js';
import { MachineDirectory } from '../../machine-directory/index.js';
import { BRIDGE_SETTINGS } from '../../platform/index.js';
import { ListWatermarks } from './list-watermarks.js';

type ListCommand = Command<ListToSet>;

/** A request's bytes; a service that takes less answers 413, upon which it is split. */
const MAX_REQUEST_BYTES = 512 * 1024;

export interface AppliedList {
  workingOrders: readonly string[];
  /** Epoch seconds. */
  appliedAt: number;
}

/** Sends machines' work order lists (interface, setWorkOrderList), whoever they come from. */
@Injectable()
export class WorkOrderLists {
  readonly flow: CommandDispatcher<ListToSet>;
  private readonly logger = new Logger('WorkOrderLists');
  private readonly applied = new Map<string, AppliedList>();

  constructor(
    @Inject(BRIDGE_SETTINGS) settings: BridgeSettings,
    private readonly clock: Clock,
    private readonly cloud: MachineCloudClient,
    private readonly directory: MachineDirectory,
    private readonly watermarks: ListWatermarks,
    outcomes: CommandOutcomes,
    slots: CallSlots,
    controls: FlowControls,
  ) {
    const { maxMachines, lingerMs } = settings.workOrderList;
    this.flow = new CommandDispatcher<ListToSet>({
      flow: 'work-orders',
      hold: controls.holdOf('work-orders'),
      clock,
      slots,
      limits: { maxMachines, maxBytes: MAX_REQUEST_BYTES },
      sizeOf,
      lingerMs,
      deferredAfterMs: settings.outcomeDeferredAfterSeconds * 1000,
      precedence: this.decide,
      admit: this.admit,
      call: this.call,
      callEmpty: (permit) => cloud.setWorkOrderList([], permit),
      onDeferred: (waiter) => outcomes.publishDeferred(waiter.results.target, waiter),
    });
  }

  lastApplied(machineId: string): AppliedList | undefined {
    return this.applied.get(machineId);
  }

  /** A list that takes the place of another is no older than that: which one it was will not be known any more. */
  private readonly decide: Precede<ListToSet> = (older, newer, isCalled) => {
    const applied = this.watermarks.issuedAt(newer.machineId);
    const precedence = precedenceOf(older, newer, applied, isCalled);
    // those of the ledger have no time of issue, and no watermarks where they come through
    const issued = issuedOf(older);
    if (precedence === 'newer' && !isOfLedger(newer) && issued !== undefined) {
      // the one it took the place of before may be the later
      newer.notOlderThan = Math.max(issued, newer.notOlderThan ?? issued);
    }
    return precedence;
  };

  private readonly admit = (command: ListCommand): Admission | Promise<Admission> => {
    const { machineId, payload } = command;
    const [waiter] = command.waiters;
    if (waiter === undefined) throw new Error('a list nobody waits for');
    if (payload.issuedAt !== undefined) {
      const applied = this.watermarks.issuedAt(machineId);
      if (isOlder(payload, applied)) {
        const detail = `issued at ${payload.issuedAt}; the list applied last was issued at ${applied}`;
        return { kind: 'superseded', detail };
      }
    }
    if (this.directory.hasMachine(machineId)) return GO;
    return this.directory.admitMachine(machineId, waiter.results.message.revoked);
  };

  private readonly call = async (
    commands: readonly ListCommand[],
    permit: TracedPermit,
  ): Promise<CallAnswer> => {
    const lists = commands.map(({ machineId, payload }) => ({
      machineId,
      workingOrders: ordersOf(payload),
    }));
    const answer = await this.cloud.setWorkOrderList(lists, permit);
    if (answer.kind !== 'data' && answer.kind !== 'noData') return answer;
    const taken = lists.map((list, index) => this.taken(list, commands[index]));
    return { kind: answer.kind, lists: taken };
  };

  /** A bug of ours in it must not have the call made again, which has been answered. */
  private taken(
    { machineId, workingOrders }: { machineId: string; workingOrders: readonly string[] },
    command: ListCommand | undefined,
  ): SetList {
    try {
      const appliedAt = this.clock.nowSeconds();
      const known = this.applied.get(machineId);
      if (known === undefined) this.applied.set(machineId, { workingOrders, appliedAt });
      else {
        // Written over: an object that is replaced after minutes is among the garbage that is dearest to collect.
        known.workingOrders = workingOrders;
        known.appliedAt = appliedAt;
      }
      const issuedAt = command && issuedOf(command.payload);
      const [waiter] = command?.waiters ?? [];
      if (issuedAt === undefined || waiter === undefined) return { workingOrders };
      const { partition } = waiter.results.message;
      return { workingOrders, records: this.watermarks.raise(partition, machineId, issuedAt) };
    } catch (error) {
      this.logger.error({ msg: 'call not concluded', flow: this.flow.name, err: error });
      return { workingOrders };
    }
  }
}

/** A list to set, as it waits: as a message has it, or drawn from the ledger. */
export interface ListToSet {
  readonly machineId: string;
  /**
   * Of the ledger, what gives them when they are sent: what they were when the message came may be outdated by then. A
   * later list includes an earlier one, and applying it applies both.
   */
  readonly workingOrders: readonly string[] | (() => readonly string[]);
  /** Epoch seconds, where the sender says it; a list issued before the last one applied is superseded. */
  readonly issuedAt?: number | undefined;
  /** The time of issue of a list that this one replaced: a list older than that is older than this one too. */
  notOlderThan?: number | undefined;
}

function isOfLedger({ workingOrders }: ListToSet): boolean {
  return typeof workingOrders === 'function';
}

export function ordersOf({ workingOrders }: ListToSet): readonly string[] {
  return typeof workingOrders === 'function' ? workingOrders() : workingOrders;
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
  newer: ListToSet,
  appliedIssuedAt: number | undefined,
  isCalled: boolean,
): Precedence {
  if (isOfLedger(older) && isOfLedger(newer)) return 'both';
  if (isOlder(newer, issuedOf(older))) return 'older';
  const mayBeOutdated = isCalled || isOlder(newer, appliedIssuedAt);
  return older.issuedAt === undefined && newer.issuedAt !== undefined && mayBeOutdated
    ? 'apart'
    : 'newer';
}

/** When it was issued, or the latest time it was certainly not issued before. */
function issuedOf({ issuedAt, notOlderThan }: ListToSet): number | undefined {
  return issuedAt ?? notOlderThan;
}

/** Whether a list was issued before another one; without both times the later to come is the newer. */
function isOlder({ issuedAt }: ListToSet, than: number | undefined): boolean {
  return issuedAt !== undefined && than !== undefined && issuedAt < than;
}

/** Bytes of the list in a request, near enough. */
export function sizeOf(list: ListToSet): number {
  const FRAME = 48;
  let size = FRAME + list.machineId.length;
  for (const order of ordersOf(list)) size += order.length + 3;
  return size;
}
