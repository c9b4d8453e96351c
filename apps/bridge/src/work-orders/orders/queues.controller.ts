import { Controller } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import type { InboundMessage } from '#libs/kafka';
import { Assignments } from './assignments.js';
import { OrderPartitioner } from './order-partitioner.js';
import { OrderLedger } from './order-ledger.js';
import { DeadLetterAggregator } from './dead-letter-aggregator.js';
import { ASSIGNMENT_CHANGES, ORDER_REFUSALS, RELAYED_ORDERS, takeEach } from './queues.js';

/** Consumes the queues between the parts of this flow. */
@Controller()
export class QueuesController {
  constructor(
    private readonly partitioner: OrderPartitioner,
    private readonly ledger: OrderLedger,
    private readonly assignments: Assignments,
    private readonly deadLetters: DeadLetterAggregator,
  ) {}

  /** Resolves once the orders are in the ledger: those behind them must not overtake them. */
  @EventPattern(RELAYED_ORDERS)
  async handleOrders(messages: readonly InboundMessage[]): Promise<void> {
    const [first] = messages;
    if (first === undefined) return;
    await this.partitioner.known(first.revoked);
    takeEach(RELAYED_ORDERS, messages, (message, orders) => {
      this.ledger.takeOrders(message, orders);
    });
  }

  @EventPattern(ASSIGNMENT_CHANGES)
  handleChanges(messages: readonly InboundMessage[]): void {
    takeEach(ASSIGNMENT_CHANGES, messages, (message, change) => {
      this.assignments.takeChange(message, change);
    });
  }

  @EventPattern(ORDER_REFUSALS)
  handleRefusals(messages: readonly InboundMessage[]): void {
    takeEach(ORDER_REFUSALS, messages, (message, refusal) => {
      this.deadLetters.takeRefusal({ message, refusal });
    });
  }
}
