import { Controller } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import { messageIdOf, openEnvelope, parseDowntimeReason, TOPICS } from '#libs/contracts';
import { type InboundMessage } from '#libs/messaging';
import { CommandOutcomes, rejection } from '../command-delivery/index.js';
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
    const envelope = openEnvelope(message);
    const answered = {
      message,
      messageId: envelope.ok ? envelope.value.messageId : messageIdOf(message.headers),
    };
    const parsed = envelope.ok ? parseDowntimeReason(envelope.value.body) : envelope;
    const result = parsed.ok
      ? await this.reasons.apply(parsed.value, answered)
      : rejection(parsed.rejection.machineId ?? null, parsed.rejection);
    await this.outcomes.publish('downtime-reason', answered, [result]);
  }
}
