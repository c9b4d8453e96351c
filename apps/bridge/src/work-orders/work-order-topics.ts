import { Inject, Injectable } from '@nestjs/common';
import { type BridgeSettings } from '#libs/config';
import { deadLetterTopic, TOPICS } from '#libs/contracts';
import { type KeyedStateTopic, type TopicSpecification } from '#libs/messaging';
import { BRIDGE_SETTINGS } from '../platform/index.js';
import { ASSIGNMENT_CHANGES } from './assignments/assignment-change.js';
import { AssignmentsState } from './assignments/assignments-state.js';
import { ListFencesState } from './lists/list-fences-state.js';
import { OrdersState } from './orders/orders-state.js';

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
    const changes = `${topicPrefix}${ASSIGNMENT_CHANGES}`;
    this.queues = [
      {
        name: changes,
        cleanupPolicy: 'compact',
        // So that lists and orders of a machine are owned together, where both are keyed by it.
        createdAsWideAs: [`${topicPrefix}${TOPICS.workOrderLists}`],
      },
      { name: deadLetterTopic(changes), cleanupPolicy: 'delete' },
    ];
  }
}
