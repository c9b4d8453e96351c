import { Controller, Get, NotFoundException, Optional, Param, UseGuards } from '@nestjs/common';
import { CommandOutcomes } from '../command-delivery/index.js';
import { MachineDirectory } from '../machine-directory/index.js';
import { MachineStates } from '../machine-states/index.js';
import { WorkOrderLists } from '../work-orders/index.js';
import { ApiTokenGuard } from './api-token.guard.js';
import {
  type MachineDetails,
  machineDetails,
  type MachineSummary,
  machineSummary,
} from './read-views.js';

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
    return [...this.directory.machines().values()].map((machine) =>
      machineSummary(machine, this.states?.get(machine.machineId)),
    );
  }

  @Get(':machineId')
  details(@Param('machineId') machineId: string): MachineDetails {
    const known = {
      state: this.states?.get(machineId),
      list: this.lists?.lastApplied(machineId),
      outcomes: this.outcomes.recentOf(machineId),
    };
    const details = machineDetails(machineId, this.directory.machines().get(machineId), known);
    if (details === undefined) throw new NotFoundException('nothing is known of such a machine');
    return details;
  }
}
