import { Controller, Logger } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { type InboundMessage } from '#libs/messaging';
import { OrderIntake } from './order-intake.js';
import { parseOrderRefusal } from './order-refusals.js';
import { RefusedOrders } from './refused-orders.js';
import { parseRelayReport, RELAY_REPORTS } from './relay-reports.js';
import { parseRelayedOrders, RELAYED_ORDERS } from './relayed-orders.js';

/** Orders on their way from the partition they came through to their home, and what became of them on its way back. */
@Controller()
export class RelaysController {
  private readonly logger = new Logger('Relays');

  constructor(
    private readonly intake: OrderIntake,
    private readonly refused: RefusedOrders,
  ) {}

  /** Resolves once the orders are in the ledger's hands: those behind them must not overtake them. */
  @EventPattern(RELAYED_ORDERS)
  async handleOrders(messages: readonly InboundMessage[]): Promise<void> {
    await this.intake.takeRelayed(this.read(messages, parseRelayedOrders));
  }

  @EventPattern(RELAY_REPORTS)
  async handleReports(messages: readonly InboundMessage[]): Promise<void> {
    const reports = messages.filter((message) => {
      const refusal = parseOrderRefusal(message.value);
      if (refusal !== undefined) this.refused.take({ message, refusal });
      return refusal === undefined;
    });
    await this.intake.takeReports(this.read(reports, parseRelayReport));
  }

  /** What says nothing is finished. */
  private read<T>(
    messages: readonly InboundMessage[],
    parse: (value: Buffer | null) => T | undefined,
  ): { message: InboundMessage; content: T }[] {
    return messages.flatMap((message) => {
      const { topic, partition, offset, value } = message;
      const content = parse(value);
      if (content !== undefined) return [{ message, content }];
      // else it is the tombstone of one that is done with
      if (value !== null) this.logger.error({ msg: 'passed over', topic, partition, offset });
      message.finish();
      return [];
    });
  }
}
