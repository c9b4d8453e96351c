import { type KafkaJSProtocolError } from 'kafkajs';

/** What a broker has answered; by name, because kafkajs gives out its error classes only as a whole. */
export function isProtocolError(error: unknown): error is KafkaJSProtocolError {
  return error instanceof Error && error.name === 'KafkaJSProtocolError';
}
