import { Controller, Logger } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { type InboundMessage } from '#libs/messaging';
import { OrderIntake, type ReadRelay } from './order-intake.js';
import { parseRelayed, RELAYED_ORDERS } from './relayed-orders.js';

/** `machine-bridge.relayed-orders.v1`: orders on their way from the partition they came through to their home. */
@Controller()
export class RelayedOrdersController {
  private readonly logger = new Logger('RelayedOrders');

  constructor(private readonly intake: OrderIntake) {}

  /** Resolves once the orders are in the ledger's hands: those behind them must not overtake them. */
  @EventPattern(RELAYED_ORDERS)
  async handle(messages: readonly InboundMessage[]): Promise<void> {
    await this.intake.takeRelayed(messages.flatMap((message) => this.read(message) ?? []));
  }

  /** Undefined, and finished, what says nothing. */
  private read(message: InboundMessage): ReadRelay | undefined {
    const { value, partition, offset } = message;
    const content = parseRelayed(value);
    if (content !== undefined) return { message, content };
    // else it is the tombstone of one that is done with
    if (value !== null) this.logger.error({ msg: 'passed over: no orders', partition, offset });
    message.finish();
    return undefined;
  }
}
