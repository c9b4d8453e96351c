import { Injectable, NotFoundException, UnprocessableEntityException } from '@nestjs/common';
import { Plant, type PlantMachine } from '../plant/plant.js';

/** Finds machines, or throws the status for a missing one. */
@Injectable()
export class MachineLookup {
  constructor(private readonly plant: Plant) {}

  /** @throws NotFoundException 404, the interface's status for the reason list */
  getOr404(machineId: string): PlantMachine {
    const machine = this.plant.findMachine(machineId);
    if (!machine) throw new NotFoundException(`machine ID ${machineId} not found`);
    return machine;
  }

  /**
   * The interface states 422 for a missing machine only for setMachineClassification. State, activity log and work
   * order list use it too: of their statuses, only it distinguishes a wrong ID from a machine without data.
   *
   * @throws UnprocessableEntityException 422
   */
  getOr422(machineId: string): PlantMachine {
    const machine = this.plant.findMachine(machineId);
    if (!machine) throw new UnprocessableEntityException(`machine ID ${machineId} does not exist`);
    return machine;
  }
}
