import type { KafkaJSProtocolError } from './kafka-port.js';

/** Whether a broker has answered so; by name, because kafkajs gives out its error classes only as a whole. */
export function isProtocolError(error: unknown): error is KafkaJSProtocolError {
  return error instanceof Error && error.name === 'KafkaJSProtocolError';
}

/** The name of a broker's answer to the last try; undefined where there was none. */
export function brokerAnswerOf(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (isProtocolError(cause)) return cause.type;
  }
  return undefined;
}

/** Whether a broker has said, to the last try, that it has no such topic. */
export function isMissingTopic(error: unknown): boolean {
  return brokerAnswerOf(error) === 'UNKNOWN_TOPIC_OR_PARTITION';
}

/** The topics of which a broker has said so when it was asked for their partitions. */
export function missingTopicsOf(error: unknown): readonly string[] {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { missingTopics } = cause as { missingTopics?: readonly string[] };
    if (missingTopics !== undefined) return missingTopics;
  }
  return [];
}
