import { Controller, Get, NotFoundException, Optional, Param, UseGuards } from '@nestjs/common';
import { type MachineInfo } from '#libs/cloud-client';
import { type CommandOutcome, type MachineStateRecord } from '#libs/contracts';
import { CommandOutcomes } from '../command-delivery/index.js';
import { MachineDirectory } from '../machine-directory/index.js';
import { MachineStates } from '../machine-states/index.js';
import { type AppliedList, WorkOrderLists } from '../work-orders/index.js';
import { ApiTokenGuard } from './api-token.guard.js';

interface MachineSummary extends MachineInfo {
  /** Null while this process does not know it: another one may own the machine. */
  state: MachineStateRecord | null;
}

interface MachineDetails extends MachineSummary {
  workOrderList: AppliedList | null;
  lastOutcomes: readonly CommandOutcome[];
}

/** What this bridge knows of the machines the token may see. */
@Controller('api/machines')
@UseGuards(ApiTokenGuard)
export class MachinesController {
  constructor(
    private readonly directory: MachineDirectory,
    private readonly outcomes: CommandOutcomes,
    @Optional() private readonly states?: MachineStates,
    @Optional() private readonly lists?: WorkOrderLists,
  ) {}

  @Get()
  list(): MachineSummary[] {
    return [...this.directory.machines().values()].map((machine) => this.summary(machine));
  }

  @Get(':machineId')
  details(@Param('machineId') machineId: string): MachineDetails {
    const machine = this.directory.machines().get(machineId);
    if (machine === undefined) throw new NotFoundException('the service lists no such machine');
    return {
      ...this.summary(machine),
      workOrderList: this.lists?.lastApplied(machineId) ?? null,
      lastOutcomes: this.outcomes.recentOf(machineId),
    };
  }

  private summary(machine: MachineInfo): MachineSummary {
    return { ...machine, state: this.states?.get(machine.machineId) ?? null };
  }
}
