import { Controller, type DynamicModule, Get, Module } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Clock } from '#libs/clock';
import type { SandboxSettings } from '#libs/config';
import { CallLog } from './control/call-log.js';
import { CallsController } from './control/calls.controller.js';
import { FaultBoard } from './control/fault-board.js';
import { FaultsController } from './control/faults.controller.js';
import { MachinesController } from './control/machines.controller.js';
import { OptionsController } from './control/options.controller.js';
import { ServiceGate } from './control/service-gate.js';
import { TimelineController } from './control/timeline.controller.js';
import { Plant } from './plant/plant.js';
import { AnswerOptions } from './service/answer-options.js';
import { Classifications } from './service/classifications.js';
import { ClassificationsController } from './service/classifications.controller.js';
import { LOGIN, LoginController } from './service/login.controller.js';
import { MachineInfoController } from './service/machine-info.controller.js';
import { MachineLookup } from './service/machine-lookup.js';
import { MachineStatesController } from './service/machine-states.controller.js';
import { TokenRegistry } from './service/token-registry.js';
import { WorkOrderLists } from './service/work-order-lists.js';
import { WorkOrderListsController } from './service/work-order-lists.controller.js';

@ApiExcludeController()
@Controller('health')
class HealthController {
  @Get('live')
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }
}

/** State that the service and the control API share. */
export interface SandboxWorld {
  /** The service's clock. */
  clock: Clock;
  options: AnswerOptions;
  plant: Plant;
  tokens: TokenRegistry;
  login: SandboxSettings['login'];
}

/** The service, and the control API under `/sandbox`: the true states, the received calls, and faults. */
@Module({})
export class SandboxModule {
  static of(world: SandboxWorld): DynamicModule {
    return {
      module: SandboxModule,
      controllers: [
        ...[MachineInfoController, MachineStatesController, ClassificationsController],
        ...[WorkOrderListsController, LoginController],
        ...[HealthController, MachinesController, TimelineController],
        ...[OptionsController, CallsController, FaultsController],
      ],
      providers: [
        { provide: Clock, useValue: world.clock },
        { provide: AnswerOptions, useValue: world.options },
        { provide: Plant, useValue: world.plant },
        { provide: TokenRegistry, useValue: world.tokens },
        { provide: LOGIN, useValue: world.login },
        ...[MachineLookup, Classifications, WorkOrderLists, CallLog, FaultBoard, ServiceGate],
      ],
    };
  }
}
