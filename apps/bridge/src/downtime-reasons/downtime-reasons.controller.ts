import { Controller } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { TOPICS } from '#libs/contracts';
import { handleEach, type InboundMessage } from '#libs/kafka';
import { CommandOutcomes, MessageResults, rejection } from '../delivery/index.js';
import { DowntimeReasons } from './downtime-reasons.js';

/** `mes.downtime-reasons.v1`: downtime reasons from the operators' terminals. */
@Controller()
export class DowntimeReasonsController {
  constructor(
    private readonly reasons: DowntimeReasons,
    private readonly outcomes: CommandOutcomes,
  ) {}

  @EventPattern(TOPICS.downtimeReasons)
  handle(messages: readonly InboundMessage[]): void {
    handleEach(messages, this.accept);
  }

  private readonly accept = (message: InboundMessage): void => {
    const { target, envelope } = this.outcomes.openMessage(message);
    const parsed = envelope.ok ? this.reasons.readReason(envelope.value.body) : envelope;
    if (!parsed.ok) {
      message.finish(this.outcomes.resultRecords(target, [rejection(parsed.rejection)]));
      return;
    }
    const results = new MessageResults(target, 1, [], this.outcomes.resultRecords);
    this.reasons.flow.submitCommand(parsed.value.machineId, parsed.value, results);
  };
}
