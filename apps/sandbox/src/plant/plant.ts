import type { ShiftCalendar } from '#libs/clock';
import type { ForcibleTimeline } from './forcible-timeline.js';

export interface ClassificationReason {
  name: string;
  code: string;
}

/** A machine; field names as in the interface ("Machine info entry"). */
export interface PlantMachine {
  machineId: string;
  /** Display names by language, such as `{"en": "Milling centre 1"}`. */
  machineDisplayName: Record<string, string>;
  factoryId: string;
  factoryName: string;
  reasons: readonly ClassificationReason[];
  /** Seconds from the end of a minute until its state is visible, 0 to 59. */
  updatePhaseSeconds: number;
  timeline: ForcibleTimeline;
}

export class Plant {
  private byId = new Map<string, PlantMachine>();

  constructor(
    readonly calendar: ShiftCalendar,
    machines: readonly PlantMachine[],
  ) {
    this.replaceMachines(machines);
  }

  /** All machines, in the order of the directory. */
  get machines(): PlantMachine[] {
    return [...this.byId.values()];
  }

  findMachine(machineId: string): PlantMachine | undefined {
    return this.byId.get(machineId);
  }

  replaceMachines(machines: readonly PlantMachine[]): void {
    this.byId = new Map(machines.map((machine) => [machine.machineId, machine]));
  }
}
