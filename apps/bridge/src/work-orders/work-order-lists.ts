import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '#libs/clock';
import { MachineCloudClient } from '#libs/cloud-client';
import { type BridgeSettings } from '#libs/config';
import { ConcurrencyLimit, Lanes } from '#libs/delivery';
import {
  announceDeferral,
  type AnsweredMessage,
  askUntilTold,
  CommandOutcomes,
  type CommandResult,
  FlowStatus,
  Forbidden,
  rejection,
} from '../command-delivery/index.js';
import { MachineDirectory, refuseUnknownMachine } from '../machine-directory/index.js';
import { BRIDGE_SETTINGS } from '../platform/index.js';
import { ListDispatcher } from './list-dispatcher.js';
import { ListWaiter } from './list-waiter.js';

/** A list as the service last took it. */
export interface AppliedList {
  workingOrders: readonly string[];
  appliedAt: number;
}

export interface ListToSet {
  machineId: string;
  /** Asked for at the moment of the call: what it was when the message came may be outdated by then. */
  workingOrders: () => readonly string[];
  /** Epoch seconds; a list issued before the last one applied is superseded. */
  issuedAt?: number;
  /** Drawn from the ledger: a later one says all that an earlier one does. */
  cumulative: boolean;
}

/** A request's bytes; a service that takes less answers 413, upon which it is split. */
const MAX_REQUEST_BYTES = 512 * 1024;

/** Sends machines' work order lists (interface, setWorkOrderList), whoever they come from. */
@Injectable()
export class WorkOrderLists {
  readonly name = 'work-orders';
  readonly status = new FlowStatus(this.name);
  private readonly lanes = new Lanes();
  private readonly applied = new Map<string, AppliedList>();
  private readonly newestIssue = new Map<string, number>();
  private readonly dispatcher: ListDispatcher;
  private readonly deferredAfterMs: number;

  constructor(
    @Inject(BRIDGE_SETTINGS) settings: BridgeSettings,
    clock: Clock,
    cloud: MachineCloudClient,
    private readonly directory: MachineDirectory,
    private readonly outcomes: CommandOutcomes,
    limit: ConcurrencyLimit,
  ) {
    const { maxMachines, lingerMs } = settings.workOrderList;
    this.deferredAfterMs = settings.outcomeDeferredAfterSeconds * 1000;
    this.dispatcher = new ListDispatcher({
      limits: { maxMachines, maxBytes: MAX_REQUEST_BYTES },
      lingerMs,
      limit,
      status: this.status,
      clock,
      call: (assignments) => cloud.setWorkOrderList(assignments),
      issuedAtApplied: (machineId) => this.newestIssue.get(machineId),
      onApplied: ({ machineId, workingOrders }, issuedAt) => {
        this.applied.set(machineId, { workingOrders, appliedAt: clock.nowSeconds() });
        if (issuedAt !== undefined) this.newestIssue.set(machineId, issuedAt);
      },
    });
  }

  /** Machines with a list waiting or under way. */
  get busyMachines(): number {
    return this.dispatcher.busyMachines;
  }

  /** The list the service last took for the machine from this process. */
  lastApplied(machineId: string): AppliedList | undefined {
    return this.applied.get(machineId);
  }

  /** Enters the machine's lane before it returns; resolves when the list is applied, superseded or refused. */
  set(list: ListToSet, answered: AnsweredMessage): Promise<CommandResult> {
    const { machineId } = list;
    const { signal } = answered.message;
    const progress = { calls: 0 };
    return announceDeferral(
      this.deferredAfterMs,
      () => this.outcomes.publishDeferred('work-order-list', answered, machineId, progress.calls),
      async () => {
        // The lane keeps the machine's lists in order while the directory is asked, and no longer.
        const submitted = await this.lanes.run(machineId, () =>
          this.submit(list, signal, progress),
        );
        return submitted.result;
      },
    );
  }

  private async submit(
    list: ListToSet,
    signal: AbortSignal,
    progress: { calls: number },
  ): Promise<{ result: Promise<CommandResult> }> {
    const { machineId, ...pending } = list;
    const refuse = () => refuseUnknownMachine(this.directory, machineId, signal);
    const reason = await askUntilTold(refuse, this.status, signal);
    if (reason !== undefined) return { result: Promise.resolve(rejection(reason, machineId)) };
    const waiter = new ListWaiter(signal, progress);
    const forbidden = new Forbidden();
    this.dispatcher.submit(machineId, { ...pending, forbidden, waiters: [waiter] });
    return { result: waiter.result };
  }
}
