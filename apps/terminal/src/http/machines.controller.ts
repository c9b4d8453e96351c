import { Controller, Get, Param, Query, UseGuards } from '@nestjs/common';
import { Clock } from '#libs/clock';
import { ApiError } from '#libs/http-api';
import { AccessGuard } from '../access/access.guard.js';
import type { HandOver, MachineView } from '../api/index.js';
import { PlantFeed } from '../kafka/plant-feed.js';
import { handOverOf, Plant } from '../plant/index.js';
import { FactoryId } from '../platform/factory-id.decorator.js';

const SHIFTS: readonly unknown[] = ['0', '1'];

@Controller('api')
@UseGuards(AccessGuard)
export class MachinesController {
  constructor(
    private readonly plant: Plant,
    private readonly clock: Clock,
    private readonly feed: PlantFeed,
  ) {}

  @Get('machines/:machineId')
  machine(@Param('machineId') machineId: string): MachineView {
    this.feed.assertRestored();
    const machine = this.plant.machines.get(machineId);
    if (machine?.isListed !== true) {
      throw new ApiError(404, 'unknown-machine', `there is no machine ${machineId}`);
    }
    const now = this.clock.nowSeconds();
    return machine.machineView(this.plant.evaluationOf(machine, now), this.plant.window(now));
  }

  @Get('hand-over')
  handOver(@FactoryId() factoryId: string | null, @Query('shift') index: unknown = '0'): HandOver {
    this.feed.assertRestored();
    const now = this.clock.nowSeconds();
    const shift = this.plant.shifts(now)[SHIFTS.indexOf(index)];
    if (shift === undefined) throw new ApiError(400, 'invalid-request', 'shift must be 0 or 1');
    const machines = this.plant
      .listedMachines(factoryId)
      .map((machine) => handOverOf(machine, this.plant.evaluationOf(machine, now), shift, now))
      .filter((machine) => machine !== undefined);
    return { shift, machines };
  }
}
