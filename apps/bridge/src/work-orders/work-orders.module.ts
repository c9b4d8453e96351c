import { Module } from '@nestjs/common';
import { type BridgeSettings } from '#libs/config';
import { EquipmentMap } from '#libs/erp-formats';
import { CommandDeliveryModule } from '../command-delivery/index.js';
import { MachineDirectoryModule } from '../machine-directory/index.js';
import { BRIDGE_SETTINGS } from '../platform/index.js';
import { WorkOrderLists } from './work-order-lists.js';
import { WorkOrderListsController } from './work-order-lists.controller.js';
import { WorkOrdersController } from './work-orders.controller.js';

@Module({
  imports: [CommandDeliveryModule, MachineDirectoryModule],
  controllers: [WorkOrderListsController, WorkOrdersController],
  providers: [
    WorkOrderLists,
    {
      provide: EquipmentMap,
      inject: [BRIDGE_SETTINGS],
      useFactory: ({ erp }: BridgeSettings) => erp.equipmentMap,
    },
  ],
  exports: [WorkOrderLists],
})
export class WorkOrdersModule {}
