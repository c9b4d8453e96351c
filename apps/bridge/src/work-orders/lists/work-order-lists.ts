import { Controller, Inject, Injectable, Logger } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { Clock } from '#libs/clock';
import { MachineCloudClient } from '#libs/cloud-client';
import type { BridgeSettings } from '#libs/config';
import { openEnvelope, parseWorkOrderLists, refuseIssuedAhead, TOPICS } from '#libs/contracts';
import { CallSlots } from '#libs/delivery';
import { handleEach, type InboundMessage } from '#libs/kafka';
import {
  type Admission,
  type CallAnswer,
  type Command,
  CommandDispatcher,
  CommandOutcomes,
  type DecidePrecedence,
  GO,
  MessageResults,
  type Precedence,
  rejection,
  type SetList,
  type TracedPermit,
} from '../../delivery/index.js';
import { FlowControls } from '../../flow-control/index.js';
import { MachineDirectory } from '../../machine-directory/index.js';
import { BRIDGE_SETTINGS } from '../../platform/index.js';
import { ListWatermarks } from './list-watermarks.js';

type ListCommand = Command<ListToSet>;

/** The most bytes of a request. A service with a lower limit answers 413, and the call is split. */
const MAX_REQUEST_BYTES = 512 * 1024;

export interface AppliedList {
  workingOrders: readonly string[];
  /** Epoch seconds. */
  appliedAt: number;
}

/** Sets machines' work order lists (interface, setWorkOrderList), those of messages and those of the ledger. */
@Injectable()
export class WorkOrderLists {
  readonly flow: CommandDispatcher<ListToSet>;
  private readonly logger = new Logger('WorkOrderLists');
  private readonly applied = new Map<string, AppliedList>();

  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    private readonly clock: Clock,
    private readonly cloud: MachineCloudClient,
    private readonly directory: MachineDirectory,
    private readonly watermarks: ListWatermarks,
    private readonly outcomes: CommandOutcomes,
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
      sizeOf: listBytes,
      lingerMs,
      deferredAfterMs: settings.outcomeDeferredAfterSeconds * 1000,
      precedence: this.decidePrecedence,
      admit: this.admitList,
      call: this.setLists,
      callEmpty: (permit) => cloud.setWorkOrderList([], permit),
      onDeferred: (waiter) => outcomes.publishDeferred(waiter.results.target, waiter),
    });
  }

  /** Accepts a message of `erp.work-order-lists.v1`: replacement lists, each the whole list of a machine. */
  readonly acceptLists = (message: InboundMessage): void => {
    const envelope = openEnvelope(message);
    const parsed = envelope.ok ? parseWorkOrderLists(envelope.value.body) : envelope;
    const named = parsed.ok ? parsed.value.assignments.length + parsed.value.faults.length : 0;
    const target = this.outcomes.targetOf(message, envelope, named > 1);
    if (!parsed.ok) {
      message.finish(this.outcomes.resultRecords(target, [rejection(parsed.rejection)]));
      return;
    }
    const { assignments, faults } = refuseIssuedAhead(
      parsed.value,
      this.clock.nowSeconds(),
      this.settings.erp.commandMaxSkewSeconds,
    );
    const accepted = new Set(assignments);
    // The place in the message does not depend on the clock. An earlier owner may have published an item.
    const open = parsed.value.assignments.flatMap((list, item) =>
      accepted.has(list) && !message.isItemDone(item) ? [{ list, item }] : [],
    );
    const undecided = open.length + faults.length;
    const results = new MessageResults(target, undecided, this.outcomes.resultRecords);
    for (const fault of faults) results.addResult(rejection(fault.rejection, fault.machineId));
    for (const { list, item } of open) {
      this.flow.submitCommand(list.machineId, list, results, item);
    }
  };

  lastApplied(machineId: string): AppliedList | undefined {
    return this.applied.get(machineId);
  }

  /** Decides which list remains. A list that replaces another is no older than that one, whose time is then dropped. */
  private readonly decidePrecedence: DecidePrecedence<ListToSet> = (older, newer, isCalled) => {
    const applied = this.watermarks.issuedAt(newer.machineId);
    const precedence = precedenceOf(older, newer, applied, isCalled);
    // Lists of the ledger have no time of issue, and no watermarks in the partitions they come through.
    const issued = issuedAtOrAfter(older);
    if (precedence === 'newer' && !isOfLedger(newer) && issued !== undefined) {
      // The replaced list may itself have replaced a later one.
      newer.notOlderThan = Math.max(issued, newer.notOlderThan ?? issued);
    }
    return precedence;
  };

  private readonly admitList = (command: ListCommand): Admission | Promise<Admission> => {
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

  private readonly setLists = async (
    commands: readonly ListCommand[],
    permit: TracedPermit,
  ): Promise<CallAnswer> => {
    const lists = commands.map((command) => {
      const { machineId, payload } = command;
      return { machineId, workingOrders: ordersOf(payload), command };
    });
    const answer = await this.cloud.setWorkOrderList(lists, permit);
    if (answer.kind !== 'data' && answer.kind !== 'noData') return answer;
    const taken = lists.map((list) => this.recordApplied(list.command, list.workingOrders));
    return { kind: answer.kind, lists: taken };
  };

  /** Records a list that the service has taken. Catches errors, because a bug here must not repeat an answered call. */
  private recordApplied(command: ListCommand, workingOrders: readonly string[]): SetList {
    try {
      const { machineId } = command;
      const appliedAt = this.clock.nowSeconds();
      const known = this.applied.get(machineId);
      if (known === undefined) this.applied.set(machineId, { workingOrders, appliedAt });
      else {
        // Overwritten: objects replaced after minutes are the garbage that is most expensive to collect.
        known.workingOrders = workingOrders;
        known.appliedAt = appliedAt;
      }
      const issuedAt = issuedAtOrAfter(command.payload);
      const [waiter] = command.waiters;
      if (issuedAt === undefined || waiter === undefined) return { workingOrders };
      const { partition } = waiter.results.message;
      return { workingOrders, records: this.watermarks.raise(partition, machineId, issuedAt) };
    } catch (error) {
      this.logger.error({ msg: 'call not concluded', flow: this.flow.name, err: error });
      return { workingOrders };
    }
  }
}

@Controller()
export class WorkOrderListsController {
  constructor(private readonly lists: WorkOrderLists) {}

  @EventPattern(TOPICS.workOrderLists)
  handleLists(messages: readonly InboundMessage[]): void {
    handleEach(messages, this.lists.acceptLists);
  }
}

/** A list to set, of a message or of the ledger. */
export interface ListToSet {
  readonly machineId: string;
  /**
   * A function for lists of the ledger, called when they are sent: the list may have changed since the message. A later
   * list includes an earlier one, and applying it applies both.
   */
  readonly workingOrders: readonly string[] | (() => readonly string[]);
  /** Epoch seconds, if the sender gives it. A list issued before the last applied one is superseded. */
  readonly issuedAt?: number | undefined;
  /** The latest time of issue of the lists that this one replaced: any older list is older than this one, too. */
  notOlderThan?: number | undefined;
}

function isOfLedger({ workingOrders }: ListToSet): boolean {
  return typeof workingOrders === 'function';
}

export function ordersOf({ workingOrders }: ListToSet): readonly string[] {
  return typeof workingOrders === 'function' ? workingOrders() : workingOrders;
}

/**
 * Decides between a machine's waiting list and a newer one. A list with a time of issue does not replace one without it
 * if it may itself turn out to be outdated: then neither would be sent.
 *
 * @param appliedIssuedAt time of issue of the list last applied to the machine, if known
 * @param isCalled another list is under way and may be applied before these
 */
export function precedenceOf(
  older: ListToSet,
  newer: ListToSet,
  appliedIssuedAt: number | undefined,
  isCalled: boolean,
): Precedence {
  if (isOfLedger(older) && isOfLedger(newer)) return 'both';
  if (isOlder(newer, issuedAtOrAfter(older))) return 'older';
  const mayBeOutdated = isCalled || isOlder(newer, appliedIssuedAt);
  return older.issuedAt === undefined && newer.issuedAt !== undefined && mayBeOutdated
    ? 'apart'
    : 'newer';
}

/** When the list was issued, or the latest known time before which it was not. */
function issuedAtOrAfter({ issuedAt, notOlderThan }: ListToSet): number | undefined {
  return issuedAt ?? notOlderThan;
}

/** Whether a list was issued before `than`; if either time is missing, the list received later is the newer. */
function isOlder({ issuedAt }: ListToSet, than: number | undefined): boolean {
  return issuedAt !== undefined && than !== undefined && issuedAt < than;
}

/** Approximate bytes of the list in a request. */
export function listBytes(list: ListToSet): number {
  const FRAME = 48;
  let size = FRAME + list.machineId.length;
  for (const order of ordersOf(list)) size += order.length + 3;
  return size;
}
