import { Controller } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { parseDowntimeReason, TOPICS } from '#libs/contracts';
import { type InboundMessage } from '#libs/messaging';
import { CommandOutcomes, openMessage, rejection } from '../command-delivery/index.js';
import { DowntimeReasons } from './downtime-reasons.js';

/** `mes.downtime-reasons.v1`: why a machine stood still, from the operators' terminals. */
@Controller()
export class DowntimeReasonsController {
  constructor(
    private readonly reasons: DowntimeReasons,
    private readonly outcomes: CommandOutcomes,
  ) {}

  @EventPattern(TOPICS.downtimeReasons)
  async handle(message: InboundMessage): Promise<void> {
    const { answered, parsed } = openMessage(message, ({ body }) => parseDowntimeReason(body));
    const result = parsed.ok
      ? await this.reasons.apply(parsed.value, answered)
      : rejection(parsed.rejection);
    await this.outcomes.publish('downtime-reason', answered, [result]);
  }
}
