import type { PlantMachine } from './plant-machine.js';
import type { ShiftCalendar } from '#libs/clock';

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
