import type { KafkaJSProtocolError } from './kafka-port.js';

/** Whether the error is a broker's answer; by name, because kafkajs exports its error classes only as a whole. */
export function isProtocolError(error: unknown): error is KafkaJSProtocolError {
  return error instanceof Error && error.name === 'KafkaJSProtocolError';
}

/** Name of the broker's answer to the last try; undefined if it gave none. */
export function brokerAnswerOf(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (isProtocolError(cause)) return cause.type;
  }
  return undefined;
}

/** Whether the broker's answer to the last try is that it has no such topic. */
export function isMissingTopic(error: unknown): boolean {
  return brokerAnswerOf(error) === 'UNKNOWN_TOPIC_OR_PARTITION';
}

/** The missing topics in a broker's answer to a request for partitions. */
export function missingTopicsOf(error: unknown): readonly string[] {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { missingTopics } = cause as { missingTopics?: readonly string[] };
    if (missingTopics !== undefined) return missingTopics;
  }
  return [];
}
