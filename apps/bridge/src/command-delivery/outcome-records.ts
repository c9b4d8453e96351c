import { type Clock } from '#libs/clock';
import {
  BRIDGE_SOURCE,
  cloudEventHeaders,
  type CommandOutcome,
  outcomeId,
  outcomeJson,
  type OutcomeSource,
  TOPICS,
} from '#libs/contracts';
import { type InboundRecord, type OutboundRecord } from '#libs/messaging';
import { type Answered } from './answered-message.js';
import { type CommandFamily, keyOf, type Outcome, outcomeType } from './outcome-data.js';

/** Outcomes as they are written, and where the messages they answer stand. */
export class OutcomeRecords {
  private readonly topic: string;
  /** By the name without the prefix: put together for every message they would be as many strings. */
  private readonly fullNames = new Map<string, string>();

  constructor(
    private readonly topicPrefix: string,
    private readonly clock: Clock,
  ) {
    this.topic = `${topicPrefix}${TOPICS.commandOutcomes}`;
  }

  /** Where the message that is answered stands, under its topic's full name. */
  sourceOf({ message, messageId, origin }: Answered): OutcomeSource {
    if (origin !== undefined) return origin.source;
    const { topic, partition, offset } = message;
    return { topic: this.fullNameOf(topic), partition, offset, messageId };
  }

  /** The same message, machine and outcome have the same `ce_id`. */
  of(
    family: CommandFamily,
    message: InboundRecord,
    kind: Outcome,
    outcome: CommandOutcome,
  ): OutboundRecord {
    const { machineId, source } = outcome;
    const type = outcomeType(family, kind);
    return {
      topic: this.topic,
      key: keyOf(machineId, message),
      value: outcomeJson(outcome),
      headers: cloudEventHeaders({
        id: outcomeId(source, machineId, type),
        source: BRIDGE_SOURCE,
        type,
        time: this.clock.nowSeconds(),
        subject: machineId ?? undefined,
      }),
    };
  }

  private fullNameOf(topic: string): string {
    let name = this.fullNames.get(topic);
    if (name === undefined) this.fullNames.set(topic, (name = `${this.topicPrefix}${topic}`));
    return name;
  }
}
