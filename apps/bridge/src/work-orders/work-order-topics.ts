import { Inject, Injectable } from '@nestjs/common';
import { type BridgeSettings } from '#libs/config';
import { deadLetterTopic, TOPICS } from '#libs/contracts';
import { type KeyedStateTopic, type TopicSpecification } from '#libs/messaging';
import { BRIDGE_SETTINGS } from '../platform/index.js';
import { ASSIGNMENT_CHANGES } from './assignments/assignment-change.js';
import { AssignmentsState } from './assignments/assignments-state.js';
import { ListFencesState } from './lists/list-fences-state.js';
import { OrdersState } from './orders/orders-state.js';
import { RELAYED_ORDERS } from './orders/relayed-orders.js';

/** The topics this flow keeps for itself. */
@Injectable()
export class WorkOrderTopics {
  readonly states: readonly KeyedStateTopic[];
  /** By which one part of it tells another; the dead letters are for what a bug keeps from being handled. */
  readonly queues: readonly TopicSpecification[];

  constructor(
    @Inject(BRIDGE_SETTINGS) { kafka: { topicPrefix } }: BridgeSettings,
    fences: ListFencesState,
    orders: OrdersState,
    assignments: AssignmentsState,
  ) {
    this.states = [fences, orders, assignments];
    this.queues = [
      // So that most orders are at home in the partition that their key puts them into.
      ...queue(topicPrefix, RELAYED_ORDERS, TOPICS.workOrders),
      // So that lists and orders of a machine are owned together, where both are keyed by it.
      ...queue(topicPrefix, ASSIGNMENT_CHANGES, TOPICS.workOrderLists),
    ];
  }
}

function queue(topicPrefix: string, name: string, model: string): TopicSpecification[] {
  const topic = `${topicPrefix}${name}`;
  return [
    { name: topic, cleanupPolicy: 'compact', createdAsWideAs: [`${topicPrefix}${model}`] },
    { name: deadLetterTopic(topic), cleanupPolicy: 'delete' },
  ];
}
