import { Injectable, NotFoundException, UnprocessableEntityException } from '@nestjs/common';
import { Plant, type PlantMachine } from '../plant/plant.js';

/** Finds machines, and answers for those that do not exist. */
@Injectable()
export class MachineLookup {
  constructor(private readonly plant: Plant) {}

  /** @throws NotFoundException 404, as the interface has it for the reason list */
  getOr404(machineId: string): PlantMachine {
    const machine = this.plant.find(machineId);
    if (!machine) throw new NotFoundException(`machine ID ${machineId} not found`);
    return machine;
  }

  /**
   * The interface states 422 for a machine that does not exist only for setMachineClassification;
   * state, activity log and work order list answer alike: of the statuses it gives them it is the
   * one that distinguishes a wrong ID from a machine without data.
   *
   * @throws UnprocessableEntityException 422
   */
  getOr422(machineId: string): PlantMachine {
    const machine = this.plant.find(machineId);
    if (!machine) throw new UnprocessableEntityException(`machine ID ${machineId} does not exist`);
    return machine;
  }
}
