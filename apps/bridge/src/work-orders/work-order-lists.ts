import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '#libs/clock';
import { MachineCloudClient } from '#libs/cloud-client';
import { type BridgeSettings } from '#libs/config';
import { ConcurrencyLimit } from '#libs/delivery';
import {
  announceDeferral,
  type AnsweredMessage,
  CommandFlow,
  CommandOutcomes,
  type CommandResult,
} from '../command-delivery/index.js';
import { MachineDirectory, refuseUnknownMachine } from '../machine-directory/index.js';
import { BRIDGE_SETTINGS } from '../platform/index.js';

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
}

/** Sets machines' work order lists (interface, setWorkOrderList), whoever they come from. */
@Injectable()
export class WorkOrderLists {
  readonly flow: CommandFlow;
  private readonly applied = new Map<string, AppliedList>();
  private readonly newestIssue = new Map<string, number>();
  private readonly deferredAfterMs: number;

  constructor(
    @Inject(BRIDGE_SETTINGS) settings: BridgeSettings,
    clock: Clock,
    private readonly cloud: MachineCloudClient,
    private readonly directory: MachineDirectory,
    private readonly outcomes: CommandOutcomes,
    limit: ConcurrencyLimit,
  ) {
    this.flow = new CommandFlow('work-orders', limit, clock);
    this.deferredAfterMs = settings.outcomeDeferredAfterSeconds * 1000;
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
      () => this.flow.inLane(machineId, () => this.setInLane(list, signal, progress)),
    );
  }

  private async setInLane(
    list: ListToSet,
    signal: AbortSignal,
    progress: { calls: number },
  ): Promise<CommandResult> {
    const { machineId, issuedAt } = list;
    const newest = this.newestIssue.get(machineId);
    if (issuedAt !== undefined && newest !== undefined && issuedAt < newest) {
      const detail = `issued at ${issuedAt}, after which a list issued at ${newest} was applied`;
      return { kind: 'superseded', machineId, attempts: 0, detail };
    }
    let workingOrders: readonly string[] = [];
    const result = await this.flow.callUntilFinal({
      machineId,
      signal,
      progress,
      refuse: () => refuseUnknownMachine(this.directory, machineId, signal),
      call: () => {
        workingOrders = list.workingOrders();
        return this.cloud.setWorkOrderList([{ machineId, workingOrders }]);
      },
    });
    if (result.kind === 'applied') {
      this.applied.set(machineId, { workingOrders, appliedAt: result.appliedAt });
      if (issuedAt !== undefined) this.newestIssue.set(machineId, issuedAt);
    }
    return result;
  }
}
