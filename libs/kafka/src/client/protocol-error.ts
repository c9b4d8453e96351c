import type { KafkaJSProtocolError } from './kafka-port.js';

/** Whether a broker has answered so; by name, because kafkajs gives out its error classes only as a whole. */
export function isProtocolError(error: unknown): error is KafkaJSProtocolError {
  return error instanceof Error && error.name === 'KafkaJSProtocolError';
}

/** Whether a broker has said, to the last try, that it has no such topic. */
export function isMissingTopic(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (isProtocolError(cause)) return cause.type === 'UNKNOWN_TOPIC_OR_PARTITION';
  }
  return false;
}
