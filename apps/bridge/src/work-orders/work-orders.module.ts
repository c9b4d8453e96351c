import { Global, Module } from '@nestjs/common';
import { CommandDeliveryModule } from '../command-delivery/index.js';
import { EquipmentModule } from '../equipment/index.js';
import { MachineDirectoryModule } from '../machine-directory/index.js';
import { AssignmentChangesController } from './assignments/assignment-changes.controller.js';
import { AssignmentsState } from './assignments/assignments-state.js';
import { Assignments } from './assignments/assignments.js';
import { ListFencesState } from './lists/list-fences-state.js';
import { ListFences } from './lists/list-fences.js';
import { ListPartitions } from './lists/list-partitions.js';
import { WorkOrderListsController } from './lists/work-order-lists.controller.js';
import { WorkOrderLists } from './lists/work-order-lists.js';
import { Homes } from './orders/homes.js';
import { OrderIntake } from './orders/order-intake.js';
import { OrderLedger } from './orders/order-ledger.js';
import { RefusedOrders } from './orders/refused-orders.js';
import { OrdersState } from './orders/orders-state.js';
import { RelaysController } from './orders/relays.controller.js';
import { UnknownMachines } from './orders/unknown-machines.js';
import { WorkOrdersController } from './orders/work-orders.controller.js';
import { WorkOrderTopics } from './work-order-topics.js';

/** Global because the inbox takes {@link WorkOrderTopics} if this flow is switched on, and cannot import what may be off. */
@Global()
@Module({
  imports: [CommandDeliveryModule, EquipmentModule, MachineDirectoryModule],
  controllers: [
    WorkOrderListsController,
    WorkOrdersController,
    RelaysController,
    AssignmentChangesController,
  ],
  providers: [
    ListFences,
    ListFencesState,
    ListPartitions,
    WorkOrderLists,
    Assignments,
    AssignmentsState,
    RefusedOrders,
    Homes,
    OrderIntake,
    OrderLedger,
    OrdersState,
    UnknownMachines,
    WorkOrderTopics,
  ],
  exports: [EquipmentModule, WorkOrderLists, WorkOrderTopics],
})
export class WorkOrdersModule {}
