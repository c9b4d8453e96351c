import type { ShiftCalendar } from '#libs/clock';
import type { ForcibleTimeline } from './forcible-timeline.js';

export interface ClassificationReason {
  name: string;
  code: string;
}

/** A machine of the plant; names as in the interface ("Machine info entry"). */
export interface PlantMachine {
  machineId: string;
  /** Display names by language, such as `{"en": "Milling centre 1"}`. */
  machineDisplayName: Record<string, string>;
  factoryId: string;
  factoryName: string;
  reasons: readonly ClassificationReason[];
  /** 0 to 59: how long after the end of a minute its state becomes visible. */
  updatePhaseSeconds: number;
  timeline: ForcibleTimeline;
}

/** The machines the service knows and the shifts they are worked in. */
export class Plant {
  private byId = new Map<string, PlantMachine>();

  constructor(
    readonly calendar: ShiftCalendar,
    machines: readonly PlantMachine[],
  ) {
    this.replaceMachines(machines);
  }

  /** Every machine, in the order of the directory. */
  get machines(): PlantMachine[] {
    return [...this.byId.values()];
  }

  find(machineId: string): PlantMachine | undefined {
    return this.byId.get(machineId);
  }

  replaceMachines(machines: readonly PlantMachine[]): void {
    this.byId = new Map(machines.map((machine) => [machine.machineId, machine]));
  }
}
