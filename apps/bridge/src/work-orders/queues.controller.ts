import { Controller } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import type { InboundMessage } from '#libs/kafka';
import { Assignments } from './orders/assignments.js';
import { DeadLetterAggregator } from './orders/dead-letter-aggregator.js';
import { OrderLedger } from './orders/order-ledger.js';
import {
  ASSIGNMENT_CHANGES,
  ORDER_REFUSALS,
  ORDER_REQUESTS,
  OrderQueues,
  RELAYED_ORDERS,
} from './orders/order-queues.js';
import { OrderRequests } from './requests/order-requests.js';

/** Consumes the queues. Handlers resolve once their records are handed over: later records must not overtake them. */
@Controller()
export class QueuesController {
  constructor(
    private readonly queues: OrderQueues,
    private readonly ledger: OrderLedger,
    private readonly assignments: Assignments,
    private readonly deadLetters: DeadLetterAggregator,
    private readonly requests: OrderRequests,
  ) {}

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
    return this.queues.handleQueue(ASSIGNMENT_CHANGES, messages, this.assignments.applyChange);
  }

  @EventPattern(ORDER_REFUSALS)
  handleRefusals(messages: readonly InboundMessage[]): Promise<void> {
    return this.queues.handleQueue(ORDER_REFUSALS, messages, this.deadLetters.addRefusal);
  }
}
