import { BadRequestException, Body, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { Clock } from '#libs/clock';
import { periodsBetween, Plant, type StatePeriod, toStatePeriods } from '../../plant/index.js';
import { MachineLookup } from '../../service/index.js';
import { ControlController } from '../../http/control-controller.decorator.js';
import { ForceStateRequest, NO_DATA } from './force-state.request.js';
import { MachineReporter, type MachineReport, type MachineSummary } from './machine-report.js';
import { minutesOf, TimelineQuery } from './timeline.query.js';

@ControlController('machines')
export class MachinesController {
  constructor(
    private readonly plant: Plant,
    private readonly lookup: MachineLookup,
    private readonly clock: Clock,
    private readonly reporter: MachineReporter,
  ) {}

  @Get()
  list(): MachineSummary[] {
    return this.plant.machines.map((machine) => this.reporter.summarise(machine));
  }

  @Get(':machineId')
  report(@Param('machineId') machineId: string): MachineReport {
    return this.reporter.report(this.lookup.getOr404(machineId));
  }

  /**
   * The truth in whole minutes, whether visible yet or not: the periods that touch [from, to], cut
   * at its edges, without those that have no data.
   */
  @Get(':machineId/timeline')
  timeline(@Param('machineId') machineId: string, @Query() query: TimelineQuery): StatePeriod[] {
    const machine = this.lookup.getOr404(machineId);
    const window = minutesOf(query, this.clock.nowSeconds());
    if ('problem' in window) throw new BadRequestException(window.problem);
    return toStatePeriods(periodsBetween(machine.timeline, window.fromMinute, window.toMinute));
  }

  /** Forces or releases a state; the minute of the change goes to what holds for most of it. */
  @Post(':machineId/state')
  @HttpCode(200)
  forceState(
    @Param('machineId') machineId: string,
    @Body() { state, from = this.clock.nowSeconds(), to = Infinity }: ForceStateRequest,
  ): MachineReport {
    const machine = this.lookup.getOr404(machineId);
    if (to <= from) throw new BadRequestException('to must be later than from');
    const minutes = [Math.round(from / 60), Math.round(to / 60)] as const;
    if (state === null) machine.timeline.release(...minutes);
    else machine.timeline.force(state === NO_DATA ? null : state, ...minutes);
    return this.reporter.report(machine);
  }
}
