import { BadRequestException, Body, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { IsIn, IsInt, IsOptional, Max, Min, ValidateIf } from 'class-validator';
import { Clock } from '#libs/clock';
import { MACHINE_STATES, type MachineState } from '#libs/contracts';
import { LATEST_EPOCH_SECONDS } from '../plant/limits.js';
import { Plant, type PlantMachine } from '../plant/plant.js';
import { periodsBetween } from '../plant/timeline.js';
import { type StatePeriod, toStatePeriods, visibleState } from '../plant/visible-states.js';
import {
  type AcceptedClassification,
  type ClassifiedPeriod,
  Classifications,
} from '../service/classifications.js';
import { MachineLookup } from '../service/machine-lookup.js';
import { WorkOrderLists } from '../service/work-order-lists.js';
import { ControlController, QueryInteger } from './control-controller.decorator.js';

const LONGEST_SECONDS = 31 * 24 * 3600;
const DEFAULT_SECONDS = 24 * 3600;
/** Means "no data", because null releases the machine. */
const NO_DATA = 'NO_DATA';

/**
 * A forced state from a time on, until it is released or until `to`. A `from` in the past changes periods that the
 * activity log has shown.
 */
class ForceStateRequest {
  /** null: releases the machine to its own timeline. */
  @ValidateIf(({ state }: ForceStateRequest) => state !== null)
  @IsIn([...MACHINE_STATES, NO_DATA])
  state!: MachineState | typeof NO_DATA | null;

  /** Epoch seconds; default now. */
  @IsOptional() @IsInt() @Min(0) @Max(LATEST_EPOCH_SECONDS) from?: number | null;
  /** Epoch seconds; default: without end. States forced after it remain. */
  @IsOptional() @IsInt() @Min(0) @Max(LATEST_EPOCH_SECONDS) to?: number | null;
}

/** Epoch seconds; default the last 24 hours. */
class TimelineQuery {
  @QueryInteger() @Min(0) @Max(LATEST_EPOCH_SECONDS) from?: number;
  @QueryInteger() @Min(0) @Max(LATEST_EPOCH_SECONDS) to?: number;
}

/** A machine, its visible state, and its work order list; times in epoch seconds. */
interface MachineSummary extends Omit<PlantMachine, 'timeline'> {
  /** The state that getMachineState answers now; null: no data. */
  visibleState: ReturnType<typeof visibleState>;
  /** The forced state, `NO_DATA` for a forced lack of data; null when nothing is forced. */
  forcedState: string | null;
  workingOrders: readonly string[];
  workingOrdersSetAt: number | null;
}

interface MachineReport extends MachineSummary {
  currentShift: { startTime: number; endTime: number };
  /** Accepted calls, in order of receipt. */
  classificationsReceived: readonly AcceptedClassification[];
  /** The reasons that apply, in order of time, without overlap. */
  classifications: ClassifiedPeriod[];
}

@ControlController('machines')
export class MachinesController {
  constructor(
    private readonly plant: Plant,
    private readonly lookup: MachineLookup,
    private readonly clock: Clock,
    private readonly lists: WorkOrderLists,
    private readonly classifications: Classifications,
  ) {}

  @Get()
  listMachines(): MachineSummary[] {
    return this.plant.machines.map((machine) => this.summarise(machine));
  }

  @Get(':machineId')
  reportMachine(@Param('machineId') machineId: string): MachineReport {
    const machine = this.lookup.getOr404(machineId);
    const { startTime, endTime } = this.plant.calendar.shiftAt(this.clock.nowSeconds());
    return {
      ...this.summarise(machine),
      currentShift: { startTime, endTime },
      classificationsReceived: this.classifications.receivedFor(machineId),
      classifications: this.classifications.periodsOf(machineId),
    };
  }

  /**
   * The true states in whole minutes, visible or not: the periods that overlap [from, to], cut at its edges, without
   * those that have no data.
   */
  @Get(':machineId/timeline')
  listPeriods(@Param('machineId') machineId: string, @Query() query: TimelineQuery): StatePeriod[] {
    const machine = this.lookup.getOr404(machineId);
    const to = query.to ?? this.clock.nowSeconds();
    const from = query.from ?? Math.max(0, to - DEFAULT_SECONDS);
    if (from > to) throw new BadRequestException('from is later than to');
    if (to - from > LONGEST_SECONDS) {
      throw new BadRequestException('the period is above the maximum of 31 days');
    }
    const [fromMinute, toMinute] = [Math.floor(from / 60), Math.ceil(to / 60)];
    return toStatePeriods(periodsBetween(machine.timeline, fromMinute, toMinute));
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
    return this.reportMachine(machineId);
  }

  private summarise(machine: PlantMachine): MachineSummary {
    const { timeline, ...described } = machine;
    const { workingOrders, setAt } = this.lists.listOf(machine.machineId);
    const forced = timeline.openForce;
    return {
      ...described,
      visibleState: visibleState(machine, this.clock.nowSeconds()),
      forcedState: forced ? (forced.state ?? NO_DATA) : null,
      workingOrders,
      workingOrdersSetAt: setAt,
    };
  }
}
