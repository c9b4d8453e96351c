import { ApiOkResponse } from '@nestjs/swagger';
import { Plant } from '../plant/plant.js';
import { MachineInfo } from './answers.js';
import { ServiceController } from './service-controller.decorator.js';
import { ServiceOperation } from './service-operation.decorator.js';

@ServiceController('machines')
export class MachineInfoController {
  constructor(private readonly plant: Plant) {}

  @ServiceOperation('getMachineInfo', 'GET', { summary: 'The machines the caller may access.' })
  @ApiOkResponse({ type: MachineInfo, isArray: true })
  getMachineInfo(): MachineInfo[] {
    return this.plant.machines.map((machine) => ({
      machineDisplayName: machine.machineDisplayName,
      machineUniqueId: machine.machineId,
      factoryId: machine.factoryId,
      factoryName: machine.factoryName,
    }));
  }
}
