import {
  BRIDGE_SOURCE,
  cloudEventHeaders,
  type CommandOutcome,
  outcomeId,
  type OutcomeType,
  TOPICS,
} from '#libs/contracts';
import { type OutboundRecord } from '#libs/messaging';

/** An outcome as it is written; the same message, machine and outcome have the same `ce_id`. */
export function outcomeRecord(
  topicPrefix: string,
  key: OutboundRecord['key'],
  type: OutcomeType,
  data: CommandOutcome,
  nowSeconds: number,
): OutboundRecord {
  const { machineId, source } = data;
  return {
    topic: `${topicPrefix}${TOPICS.commandOutcomes}`,
    key,
    value: JSON.stringify(data),
    headers: cloudEventHeaders({
      id: outcomeId(source, machineId, type),
      source: BRIDGE_SOURCE,
      type,
      time: nowSeconds,
      subject: machineId ?? undefined,
    }),
  };
}
