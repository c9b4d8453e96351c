import { Inject, Injectable } from '@nestjs/common';
import { type BridgeSettings } from '#libs/config';
import { deadLetterTopic, TOPICS } from '#libs/contracts';
import { type KeyedStateTopic, type TopicSpecification } from '#libs/messaging';
import { BRIDGE_SETTINGS } from '../platform/index.js';
import { ASSIGNMENT_CHANGES } from './assignments/assignment-change.js';
import { AssignmentsState } from './assignments/assignments-state.js';
import { ListFencesState } from './lists/list-fences-state.js';
import { OrdersState } from './orders/orders-state.js';
import { RELAY_REPORTS } from './orders/relay-reports.js';
import { RELAYED_ORDERS } from './orders/relayed-orders.js';

/** Without the prefix; each has a topic of dead letters. */
export const WORK_ORDER_QUEUES = [RELAYED_ORDERS, RELAY_REPORTS, ASSIGNMENT_CHANGES] as const;

/** The topics this flow keeps for itself. */
@Injectable()
export class WorkOrderTopics {
  readonly states: readonly KeyedStateTopic[];
  /** By which one part of it tells another; the dead letters are for what a bug keeps from being handled. */
  readonly queues: readonly TopicSpecification[];

  constructor(
    @Inject(BRIDGE_SETTINGS) { kafka: { topicPrefix } }: BridgeSettings,
    fences: ListFencesState,
    knownOrders: OrdersState,
    assignments: AssignmentsState,
  ) {
    this.states = [fences, knownOrders, assignments];
    const lists = [`${topicPrefix}${TOPICS.workOrderLists}`];
    const orders = [`${topicPrefix}${TOPICS.workOrders}`];
    this.queues = [
      // So that most orders are at home in the partition that their key puts them into.
      ...queue({ name: `${topicPrefix}${RELAYED_ORDERS}`, createdAsWideAs: orders }),
      ...queue({ name: `${topicPrefix}${RELAY_REPORTS}`, asWideAs: orders }),
      // So that lists and orders of a machine are owned together, where both are keyed by it.
      ...queue({ name: `${topicPrefix}${ASSIGNMENT_CHANGES}`, createdAsWideAs: lists }),
    ];
  }
}

function queue(topic: Omit<TopicSpecification, 'cleanupPolicy'>): TopicSpecification[] {
  return [
    { ...topic, cleanupPolicy: 'compact' },
    { name: deadLetterTopic(topic.name), cleanupPolicy: 'delete' },
  ];
}
