import { type DynamicModule, Module, type Type } from '@nestjs/common';
import type { BridgeSettings } from '#libs/config';
import type { Flow } from '#libs/contracts';
import type { Tracing } from '#libs/tracing';
import { DowntimeReasonsModule } from './downtime-reasons/index.js';
import { KafkaConsumerModule } from './kafka-consumer.module.js';
import { MachineStatesModule } from './machine-states/index.js';
import { AdminApiModule } from './admin-api/index.js';
import { PlatformModule } from './platform/index.js';
import { WorkOrdersModule } from './work-orders/index.js';

const FLOW_MODULES: Record<Flow, Type> = {
  'work-orders': WorkOrdersModule,
  'downtime-reasons': DowntimeReasonsModule,
  'machine-states': MachineStatesModule,
};

@Module({})
export class BridgeModule {
  static with(settings: BridgeSettings, tracing: Tracing): DynamicModule {
    const flows = [...settings.flows].map((flow) => FLOW_MODULES[flow]);
    return {
      module: BridgeModule,
      imports: [
        PlatformModule.with(settings, tracing),
        ...flows,
        KafkaConsumerModule,
        AdminApiModule.over(flows),
      ],
    };
  }
}
