import { Module } from '@nestjs/common';
import { MachineCloudClient } from '#libs/cloud-client';
import type { BridgeSettings } from '#libs/config';
import { CallSlots } from '#libs/delivery';
import { FlowControlModule } from '../flow-control/index.js';
import { BRIDGE_SETTINGS } from '../platform/index.js';
import { CommandOutcomes } from './command-outcomes.js';

@Module({
  imports: [FlowControlModule],
  providers: [
    CommandOutcomes,
    {
      // One for all flows: the limit is on concurrent calls to the service, whatever their operation.
      provide: CallSlots,
      inject: [BRIDGE_SETTINGS, MachineCloudClient],
      useFactory: ({ machineCloud }: BridgeSettings, cloud: MachineCloudClient) =>
        new CallSlots(machineCloud.maxConcurrency, cloud.turns),
    },
  ],
  exports: [CommandOutcomes, CallSlots, FlowControlModule],
})
export class DeliveryModule {}
