import { Global, Injectable, Module } from '@nestjs/common';
import type { KeyedStateTopic } from '#libs/kafka';
import { DeliveryModule } from '../delivery/index.js';
import { MachineDirectoryModule } from '../machine-directory/index.js';
import { Equipment, UnmappedWorkCentres } from './equipment/equipment.js';
import { ListWatermarks } from './lists/list-watermarks.js';
import { WorkOrderLists, WorkOrderListsController } from './lists/work-order-lists.js';
import { OrderLedger } from './orders/order-ledger.js';
import { OrderQueues } from './orders/order-queues.js';
import { DeadLetterAggregator } from './orders/dead-letter-aggregator.js';
import { WorkOrdersController } from './work-orders.controller.js';
import { OrderRelay } from './orders/order-relay.js';
import { OrderRequests } from './requests/order-requests.js';

@Injectable()
export class WorkOrderTopics {
  readonly states: readonly KeyedStateTopic[];

  constructor(watermarks: ListWatermarks, { orders, assignments }: OrderLedger) {
    this.states = [watermarks.topic, orders, assignments];
  }
}

/** Global: the consumer injects {@link WorkOrderTopics} if this flow is on, and cannot import what may be off. */
@Global()
@Module({
  imports: [DeliveryModule, MachineDirectoryModule],
  controllers: [WorkOrderListsController, WorkOrdersController],
  providers: [
    Equipment,
    UnmappedWorkCentres,
    ListWatermarks,
    WorkOrderLists,
    DeadLetterAggregator,
    OrderQueues,
    OrderRelay,
    OrderRequests,
    OrderLedger,
    WorkOrderTopics,
  ],
  exports: [OrderRequests, UnmappedWorkCentres, WorkOrderLists, WorkOrderTopics],
})
export class WorkOrdersModule {}
