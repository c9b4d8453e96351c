import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { CommandDeliveryModule } from '../command-delivery/index.js';
import { MachineDirectoryModule } from '../machine-directory/index.js';
import { ApiTokenGuard } from './api-token.guard.js';
import { EquipmentController } from './equipment.controller.js';
import { HealthController } from './health.controller.js';
import { MachinesController } from './machines.controller.js';
import { MetricsController } from './metrics.controller.js';
import { MetricsRegistry } from './metrics-registry.js';
import { Readiness } from './readiness.js';

/** What an operator asks the bridge: is it well, what does it count, what does it know of a machine. */
@Module({})
export class OperationsModule {
  static over(flows: readonly Type[]): DynamicModule {
    return {
      module: OperationsModule,
      imports: [
        TerminusModule.forRoot({ logger: false }),
        CommandDeliveryModule,
        MachineDirectoryModule,
        ...flows,
      ],
      controllers: [HealthController, MetricsController, MachinesController, EquipmentController],
      providers: [ApiTokenGuard, MetricsRegistry, Readiness],
    };
  }
}
