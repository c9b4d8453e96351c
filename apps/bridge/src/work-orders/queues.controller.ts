import { Controller } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import type { InboundMessage } from '#libs/kafka';
import { Assignments } from './orders/assignments.js';
import { OrderPartitioner } from './orders/order-partitioner.js';
import { OrderLedger } from './orders/order-ledger.js';
import { DeadLetterAggregator } from './orders/dead-letter-aggregator.js';
import {
  ASSIGNMENT_CHANGES,
  ORDER_REFUSALS,
  ORDER_REQUESTS,
  RELAYED_ORDERS,
  takeEach,
} from './orders/queues.js';
import { OrderRequests } from './requests/order-requests.js';

/** Consumes the queues between the parts of this flow. */
@Controller()
export class QueuesController {
  constructor(
    private readonly partitioner: OrderPartitioner,
    private readonly ledger: OrderLedger,
    private readonly assignments: Assignments,
    private readonly deadLetters: DeadLetterAggregator,
    private readonly requests: OrderRequests,
  ) {}

  @EventPattern(ORDER_REQUESTS)
  handleRequests(messages: readonly InboundMessage[]): void {
    takeEach(ORDER_REQUESTS, messages, this.requests.takeRequest);
  }

  /** Resolves once the orders are in the ledger: those behind them must not overtake them. */
  @EventPattern(RELAYED_ORDERS)
  async handleOrders(messages: readonly InboundMessage[]): Promise<void> {
    const [first] = messages;
    if (first === undefined) return;
    await this.partitioner.known(first.revoked);
    takeEach(RELAYED_ORDERS, messages, this.ledger.takeOrders);
  }

  @EventPattern(ASSIGNMENT_CHANGES)
  handleChanges(messages: readonly InboundMessage[]): void {
    takeEach(ASSIGNMENT_CHANGES, messages, this.assignments.takeChange);
  }

  @EventPattern(ORDER_REFUSALS)
  handleRefusals(messages: readonly InboundMessage[]): void {
    takeEach(ORDER_REFUSALS, messages, this.deadLetters.takeRefusal);
  }
}
