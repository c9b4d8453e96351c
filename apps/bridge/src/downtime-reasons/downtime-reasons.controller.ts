import { Controller } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { parseDowntimeReason, TOPICS } from '#libs/contracts';
import { type InboundMessage } from '#libs/kafka';
import { acceptEach, CommandOutcomes, openMessage, rejection } from '../delivery/index.js';
import { DowntimeReasons } from './downtime-reasons.js';

/** `mes.downtime-reasons.v1`: why a machine stood still, from the operators' terminals. */
@Controller()
export class DowntimeReasonsController {
  constructor(
    private readonly reasons: DowntimeReasons,
    private readonly outcomes: CommandOutcomes,
  ) {}

  @EventPattern(TOPICS.downtimeReasons)
  handle(messages: readonly InboundMessage[]): void {
    acceptEach(messages, (message) => {
      this.accept(message);
    });
  }

  private accept(message: InboundMessage): void {
    const { answered, parsed } = openMessage(message, ({ body }) => parseDowntimeReason(body));
    const faults = parsed.ok ? [] : [rejection(parsed.rejection)];
    const answers = this.outcomes.answersTo('downtime-reason', answered, parsed.ok ? 1 : 0, faults);
    if (parsed.ok) this.reasons.applyReason(parsed.value, answers);
  }
}
