import { Controller } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import type { InboundMessage } from '#libs/kafka';
import { ORDER_REQUESTS, takeEach } from '../orders/queues.js';
import { OrderRequests } from './order-requests.js';

/** Consumes the queue of orders to ask for. */
@Controller()
export class OrderRequestsController {
  constructor(private readonly requests: OrderRequests) {}

  @EventPattern(ORDER_REQUESTS)
  handle(messages: readonly InboundMessage[]): void {
    takeEach(ORDER_REQUESTS, messages, (message, request) => {
      this.requests.take(message, request);
    });
  }
}
