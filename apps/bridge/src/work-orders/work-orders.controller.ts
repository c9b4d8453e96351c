import { Controller } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { TOPICS } from '#libs/contracts';
import type { InboundMessage } from '#libs/kafka';
import { DeadLetterAggregator } from './orders/dead-letter-aggregator.js';
import { OrderLedger } from './orders/order-ledger.js';
import {
  ASSIGNMENT_CHANGES,
  ORDER_REFUSALS,
  ORDER_REQUESTS,
  OrderQueues,
  RELAYED_ORDERS,
} from './orders/order-queues.js';
import { OrderRelay } from './orders/order-relay.js';
import { OrderRequests } from './requests/order-requests.js';

/**
 * The input of orders, and the queues between their steps. Handlers resolve once the records of their messages are handed
 * over: later messages must not overtake them.
 */
@Controller()
export class WorkOrdersController {
  constructor(
    private readonly relay: OrderRelay,
    private readonly queues: OrderQueues,
    private readonly requests: OrderRequests,
    private readonly ledger: OrderLedger,
    private readonly deadLetters: DeadLetterAggregator,
  ) {}

  @EventPattern(TOPICS.workOrders)
  handleDocuments(messages: readonly InboundMessage[]): Promise<void> {
    return this.relay.relayDocuments(messages);
  }

  @EventPattern(ORDER_REQUESTS)
  handleRequests(messages: readonly InboundMessage[]): Promise<void> {
    return this.queues.handleQueue(ORDER_REQUESTS, messages, this.requests.acceptRequest);
  }

  @EventPattern(RELAYED_ORDERS)
  handleOrders(messages: readonly InboundMessage[]): Promise<void> {
    return this.queues.handleQueue(RELAYED_ORDERS, messages, this.ledger.applyOrders);
  }

  @EventPattern(ASSIGNMENT_CHANGES)
  handleChanges(messages: readonly InboundMessage[]): Promise<void> {
    return this.queues.handleQueue(ASSIGNMENT_CHANGES, messages, this.ledger.applyChange);
  }

  @EventPattern(ORDER_REFUSALS)
  handleRefusals(messages: readonly InboundMessage[]): Promise<void> {
    return this.queues.handleQueue(ORDER_REFUSALS, messages, this.deadLetters.addRefusal);
  }
}
