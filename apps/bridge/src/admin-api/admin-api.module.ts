import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { HealthConditions, HealthController } from '#libs/http-api';
import { DeliveryModule } from '../delivery/index.js';
import { MachineDirectoryModule } from '../machine-directory/index.js';
import { ApiTokenGuard } from './api-token.guard.js';
import { EquipmentController } from './equipment.controller.js';
import { FlowsController } from './flows.controller.js';
import { GroupFlows } from './group-flows.js';
import { Readiness } from './readiness.js';
import { MachinesController } from './machines.controller.js';
import { MetricsController, MetricsRegistry } from './metrics-registry.js';
import { OutcomeHistory, OutcomesController } from './outcomes.controller.js';

/** HTTP API for operators: health, metrics, flows, and what the bridge knows of machines and messages. */
@Module({})
export class AdminApiModule {
  static over(flows: readonly Type[]): DynamicModule {
    return {
      module: AdminApiModule,
      imports: [
        TerminusModule.forRoot({ logger: false }),
        DeliveryModule,
        MachineDirectoryModule,
        ...flows,
      ],
      controllers: [
        HealthController,
        MetricsController,
        MachinesController,
        EquipmentController,
        FlowsController,
        OutcomesController,
      ],
      providers: [
        ...[ApiTokenGuard, GroupFlows, MetricsRegistry, OutcomeHistory, Readiness],
        { provide: HealthConditions, useExisting: Readiness },
      ],
    };
  }
}
