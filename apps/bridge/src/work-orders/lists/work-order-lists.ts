import { Inject, Injectable } from '@nestjs/common';
import { Clock, realNowMs } from '#libs/clock';
import { MachineCloudClient } from '#libs/cloud-client';
import { type BridgeSettings } from '#libs/config';
import { CallSlots } from '#libs/delivery';
import {
  type Admission,
  Command,
  CommandDispatcher,
  CommandOutcomes,
  CommandWaiter,
  GO,
  type MessageAnswers,
  type Precedence,
  type SetList,
} from '../../delivery/index.js';
import { MachineDirectory } from '../../machine-directory/index.js';
import { BRIDGE_SETTINGS } from '../../platform/index.js';
import { ListFences } from './list-fences.js';
import { isOlder, issuedOf, type ListToSet, precedenceOf, sizeOf } from './list-to-set.js';

type ListCommand = Command<ListToSet>;

/** A request's bytes; a service that takes less answers 413, upon which it is split. */
const MAX_REQUEST_BYTES = 512 * 1024;

/** A list as the service last took it. */
export interface AppliedList {
  workingOrders: readonly string[];
  /** Epoch seconds. */
  appliedAt: number;
}

/** Sends machines' work order lists (interface, setWorkOrderList), whoever they come from. */
@Injectable()
export class WorkOrderLists {
  readonly flow: CommandDispatcher<ListToSet>;
  private readonly applied = new Map<string, AppliedList>();

  constructor(
    @Inject(BRIDGE_SETTINGS) settings: BridgeSettings,
    private readonly clock: Clock,
    private readonly cloud: MachineCloudClient,
    private readonly directory: MachineDirectory,
    private readonly fences: ListFences,
    outcomes: CommandOutcomes,
    slots: CallSlots,
  ) {
    const { maxMachines, lingerMs } = settings.workOrderList;
    this.flow = new CommandDispatcher<ListToSet>({
      flow: 'work-orders',
      clock,
      slots,
      limits: { maxMachines, maxBytes: MAX_REQUEST_BYTES },
      lingerMs,
      deferredAfterMs: settings.outcomeDeferredAfterSeconds * 1000,
      precedence: (older, younger, isCalled) => this.decide(older, younger, isCalled),
      admit: (command) => this.admit(command),
      call: (commands, permit) =>
        this.cloud.setWorkOrderList(
          commands.map((command) => this.send(command)),
          permit,
        ),
      callEmpty: (permit) => cloud.setWorkOrderList([], permit),
      onApplied: (command) => this.remember(command),
      onDeferred: (waiter) => {
        outcomes.tellDeferred('work-order-list', waiter);
      },
    });
  }

  /** The list the service last took for the machine from this process. */
  lastApplied(machineId: string): AppliedList | undefined {
    return this.applied.get(machineId);
  }

  /**
   * `answers` hear what became of the list once it is applied, superseded or refused.
   *
   * @param item its place in the message
   */
  set(list: ListToSet, answers: MessageAnswers, item = 0): void {
    const { machineId } = list;
    const waiter = new CommandWaiter(machineId, answers, realNowMs(), item);
    this.flow.submit(new Command(machineId, sizeOf, list, [waiter]));
  }

  /** A list that takes the place of another is no older than that: which one it was will not be known any more. */
  private decide(older: ListToSet, younger: ListToSet, isCalled: boolean): Precedence {
    const applied = this.fences.issuedAt(younger.machineId);
    const precedence = precedenceOf(older, younger, applied, isCalled);
    // those of the ledger have no time of issue, and no fences where they come through
    const issued = issuedOf(older);
    if (precedence === 'younger' && !younger.cumulative && issued !== undefined) {
      // the one it took the place of before may be the later
      younger.notOlderThan = Math.max(issued, younger.notOlderThan ?? issued);
    }
    return precedence;
  }

  private admit(command: ListCommand): Admission | Promise<Admission> {
    const { machineId, payload } = command;
    const [waiter] = command.waiters;
    if (waiter === undefined) throw new Error('a list nobody waits for');
    const { ownership } = waiter.answers.message;
    const applied = payload.issuedAt === undefined ? undefined : this.fences.issuedAt(machineId);
    if (isOlder(payload, applied)) {
      const detail = `issued at ${payload.issuedAt}; the list applied last was issued at ${applied}`;
      return { kind: 'superseded', detail };
    }
    if (this.directory.hasMachine(machineId)) return GO;
    return this.directory.admitMachine(machineId, ownership.signal);
  }

  private send({ machineId, payload }: ListCommand): {
    machineId: string;
    workingOrders: readonly string[];
  } {
    const workingOrders = payload.workingOrders();
    payload.sent = workingOrders;
    return { machineId, workingOrders };
  }

  private remember(command: ListCommand): SetList {
    const { machineId, payload, waiters } = command;
    const [waiter] = waiters;
    const message = waiter?.answers.message;
    this.noteApplied(machineId, payload.sent ?? []);
    const issuedAt = issuedOf(payload);
    if (issuedAt !== undefined && message?.ownership.isLost === false) {
      this.fences.raise(message.partition, machineId, issuedAt);
    }
    return { workingOrders: payload.sent, issuedAt };
  }

  private noteApplied(machineId: string, workingOrders: readonly string[]): void {
    const appliedAt = this.clock.nowSeconds();
    const known = this.applied.get(machineId);
    if (known === undefined) {
      this.applied.set(machineId, { workingOrders, appliedAt });
      return;
    }
    // Written over: an object that is replaced after minutes is among the garbage that is dearest to collect.
    known.workingOrders = workingOrders;
    known.appliedAt = appliedAt;
  }
}
