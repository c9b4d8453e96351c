import { Injectable } from '@nestjs/common';
import { Clock } from '#libs/clock';
import {
  type ClassifiedPeriod,
  Classifications,
  type AcceptedClassification,
} from '../service/classifications.js';
import { Plant, type PlantMachine } from '../plant/plant.js';
import { visibleState } from '../plant/visible-states.js';
import { WorkOrderLists } from '../service/work-order-lists.js';
import { NO_DATA } from './force-state.request.js';

/** A machine, its visible state, and its work order list; times in epoch seconds. */
export interface MachineSummary {
  machineId: string;
  machineDisplayName: Record<string, string>;
  factoryId: string;
  factoryName: string;
  reasons: PlantMachine['reasons'];
  updatePhaseSeconds: number;
  /** The state that getMachineState answers now; null: no data. */
  visibleState: ReturnType<typeof visibleState>;
  /** The forced state, `NO_DATA` for a forced lack of data; null when nothing is forced. */
  forcedState: string | null;
  workingOrders: readonly string[];
  workingOrdersSetAt: number | null;
}

export interface MachineReport extends MachineSummary {
  currentShift: { startTime: number; endTime: number };
  /** Accepted calls, in order of receipt. */
  classificationsReceived: readonly AcceptedClassification[];
  /** The reasons that apply, in order of time, without overlap. */
  classifications: ClassifiedPeriod[];
}

@Injectable()
export class MachineReporter {
  constructor(
    private readonly plant: Plant,
    private readonly clock: Clock,
    private readonly lists: WorkOrderLists,
    private readonly classifications: Classifications,
  ) {}

  summarise(machine: PlantMachine): MachineSummary {
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

  reportMachine(machine: PlantMachine): MachineReport {
    const { startTime, endTime } = this.plant.calendar.shiftAt(this.clock.nowSeconds());
    return {
      ...this.summarise(machine),
      currentShift: { startTime, endTime },
      classificationsReceived: this.classifications.receivedFor(machine.machineId),
      classifications: this.classifications.periodsOf(machine.machineId),
    };
  }
}
