import { Global, Module } from '@nestjs/common';
import { type BridgeSettings } from '#libs/config';
import { EquipmentMap } from '#libs/erp-formats';
import { CommandDeliveryModule } from '../command-delivery/index.js';
import { MachineDirectoryModule } from '../machine-directory/index.js';
import { BRIDGE_SETTINGS } from '../platform/index.js';
import { ListFences } from './list-fences.js';
import { ListFencesState } from './list-fences-state.js';
import { WorkOrderLists } from './work-order-lists.js';
import { WorkOrderListsController } from './work-order-lists.controller.js';
import { WorkOrdersController } from './work-orders.controller.js';

/** Global because the inbox takes {@link ListFencesState} if this flow is switched on, and cannot import what may be off. */
@Global()
@Module({
  imports: [CommandDeliveryModule, MachineDirectoryModule],
  controllers: [WorkOrderListsController, WorkOrdersController],
  providers: [
    ListFences,
    ListFencesState,
    WorkOrderLists,
    {
      provide: EquipmentMap,
      inject: [BRIDGE_SETTINGS],
      useFactory: ({ erp }: BridgeSettings) => erp.equipmentMap,
    },
  ],
  exports: [ListFencesState, WorkOrderLists],
})
export class WorkOrdersModule {}
