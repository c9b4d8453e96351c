import { Global, Inject, Injectable, Module } from '@nestjs/common';
import { type BridgeSettings } from '#libs/config';
import { deadLetterTopic, TOPICS } from '#libs/contracts';
import { type KeyedStateTopic, type TopicSpecification } from '#libs/kafka';
import { DeliveryModule } from '../delivery/index.js';
import { EquipmentModule } from '../equipment/index.js';
import { MachineDirectoryModule } from '../machine-directory/index.js';
import { BRIDGE_SETTINGS } from '../platform/index.js';
import { Assignments } from './orders/assignments.js';
import { ListFences } from './lists/list-fences.js';
import { WorkOrderListsController } from './lists/work-order-lists.controller.js';
import { WorkOrderLists } from './lists/work-order-lists.js';
import { OrderPartitioner } from './orders/order-partitioner.js';
import { OrderLedger } from './orders/order-ledger.js';
import { QueueRetention } from './orders/queue-retention.js';
import { DeadLetterAggregator } from './orders/dead-letter-aggregator.js';
import { WorkOrdersController } from './orders/work-orders.controller.js';
import { QueuesController } from './orders/queues.controller.js';
import { ASSIGNMENT_CHANGES, ORDER_REFUSALS, RELAYED_ORDERS } from './orders/queues.js';

/** The topics this flow keeps for itself. */
@Injectable()
export class WorkOrderTopics {
  readonly states: readonly KeyedStateTopic[];
  /** Queues between its parts; their dead letters are for records that a bug keeps from being handled. */
  readonly queues: readonly TopicSpecification[];

  constructor(
    @Inject(BRIDGE_SETTINGS) { kafka: { topicPrefix } }: BridgeSettings,
    fences: ListFences,
    ledger: OrderLedger,
    assignments: Assignments,
  ) {
    this.states = [fences.topic, ledger.topic, assignments.topic];
    const lists = [`${topicPrefix}${TOPICS.workOrderLists}`];
    const orders = [`${topicPrefix}${TOPICS.workOrders}`];
    this.queues = [
      ...queue({ name: `${topicPrefix}${RELAYED_ORDERS}`, createdAsWideAs: orders }),
      ...queue({ name: `${topicPrefix}${ORDER_REFUSALS}`, asWideAs: orders }),
      // So that lists and orders of a machine are owned together, where both are keyed by it.
      ...queue({ name: `${topicPrefix}${ASSIGNMENT_CHANGES}`, createdAsWideAs: lists }),
    ];
  }
}

function queue(topic: Omit<TopicSpecification, 'cleanupPolicy'>): TopicSpecification[] {
  return [
    { ...topic, cleanupPolicy: 'compact,delete' },
    { name: deadLetterTopic(topic.name), cleanupPolicy: 'delete' },
  ];
}

/** Global because the consumer takes {@link WorkOrderTopics} if this flow is switched on, and cannot import what may be off. */
@Global()
@Module({
  imports: [DeliveryModule, EquipmentModule, MachineDirectoryModule],
  controllers: [WorkOrderListsController, WorkOrdersController, QueuesController],
  providers: [
    ListFences,
    WorkOrderLists,
    Assignments,
    DeadLetterAggregator,
    OrderPartitioner,
    OrderLedger,
    QueueRetention,
    WorkOrderTopics,
  ],
  exports: [EquipmentModule, WorkOrderLists, WorkOrderTopics],
})
export class WorkOrdersModule {}
