import { BadRequestException, Body, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { Clock } from '#libs/clock';
import { periodsBetween } from '../plant/timeline.js';
import { Plant } from '../plant/plant.js';
import { type StatePeriod, toStatePeriods } from '../plant/visible-states.js';
import { MachineLookup } from '../service/machine-lookup.js';
import { ControlController } from './control-controller.decorator.js';
import { ForceStateRequest, NO_DATA } from './force-state.request.js';
import { type MachineReport, MachineReporter, type MachineSummary } from './machine-report.js';
import { Type } from 'class-transformer';
import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { LATEST_EPOCH_SECONDS } from '../plant/limits.js';

const LONGEST_SECONDS = 31 * 24 * 3600;
const DEFAULT_SECONDS = 24 * 3600;

/** Epoch seconds; default the last 24 hours. */
class TimelineQuery {
  @IsOptional() @Type(() => Number) @IsInt() @Min(0) @Max(LATEST_EPOCH_SECONDS) from?: number;
  @IsOptional() @Type(() => Number) @IsInt() @Min(0) @Max(LATEST_EPOCH_SECONDS) to?: number;
}

/** The requested window in whole minutes, or the problem of the query. */
function minutesOf(
  query: TimelineQuery,
  now: number,
): { fromMinute: number; toMinute: number } | { problem: string } {
  const to = query.to ?? now;
  const from = query.from ?? Math.max(0, to - DEFAULT_SECONDS);
  if (from > to) return { problem: 'from is later than to' };
  if (to - from > LONGEST_SECONDS) return { problem: 'the period is above the maximum of 31 days' };
  return { fromMinute: Math.floor(from / 60), toMinute: Math.ceil(to / 60) };
}

@ControlController('machines')
export class MachinesController {
  constructor(
    private readonly plant: Plant,
    private readonly lookup: MachineLookup,
    private readonly clock: Clock,
    private readonly reporter: MachineReporter,
  ) {}

  @Get()
  listMachines(): MachineSummary[] {
    return this.plant.machines.map((machine) => this.reporter.summarise(machine));
  }

  @Get(':machineId')
  reportMachine(@Param('machineId') machineId: string): MachineReport {
    return this.reporter.reportMachine(this.lookup.getOr404(machineId));
  }

  /**
   * The true states in whole minutes, visible or not: the periods that overlap [from, to], cut at its edges, without
   * those that have no data.
   */
  @Get(':machineId/timeline')
  listPeriods(@Param('machineId') machineId: string, @Query() query: TimelineQuery): StatePeriod[] {
    const machine = this.lookup.getOr404(machineId);
    const window = minutesOf(query, this.clock.nowSeconds());
    if ('problem' in window) throw new BadRequestException(window.problem);
    return toStatePeriods(periodsBetween(machine.timeline, window.fromMinute, window.toMinute));
  }

  /** Forces or releases a state. Times are rounded to the nearest minute. */
  @Post(':machineId/state')
  @HttpCode(200)
  forceState(
    @Param('machineId') machineId: string,
    @Body() request: ForceStateRequest,
  ): MachineReport {
    const machine = this.lookup.getOr404(machineId);
    const { state } = request;
    // null means absent
    const [from, to] = [request.from ?? this.clock.nowSeconds(), request.to ?? Infinity];
    if (to <= from) throw new BadRequestException('to must be later than from');
    const minutes = [Math.round(from / 60), Math.round(to / 60)] as const;
    if (state === null) machine.timeline.release(...minutes);
    else machine.timeline.force(state === NO_DATA ? null : state, ...minutes);
    return this.reporter.reportMachine(machine);
  }
}
