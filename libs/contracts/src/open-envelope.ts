import type { Envelope } from './envelope.js';
import { isIdentifier } from './identifier.js';
import { mediaType } from './media-type.js';
import { headerText, type MessageHeaders } from './message-headers.js';
import { MAX_BODY_BYTES, tooLarge } from './read-json.js';
import { parsed, rejected, type Parsed } from './rejection.js';
import { openStructuredEvent } from './structured-event.js';

const STRUCTURED_MODE = 'application/cloudevents+json';

/**
 * Opens a plain message, or a CloudEvent 1.0 in binary or structured mode (content type
 * `application/cloudevents+json`). Refusals: `invalid-json` (no value, or a structured event that is no
 * JSON), `invalid-message` (a structured event that is none), `too-large` (above 1 MiB).
 */
export function openEnvelope(message: {
  value: Buffer | null;
  headers: MessageHeaders;
}): Parsed<Envelope> {
  const { value, headers } = message;
  if (value === null) return rejected('invalid-json', 'the message has no value');
  if (value.length > MAX_BODY_BYTES) return tooLarge(value.length);
  const contentType = headerText(headers, 'content-type');
  if (mediaType(contentType) === STRUCTURED_MODE) return openStructuredEvent(value);
  return parsed({ messageId: messageIdOf(headers), contentType, body: value });
}

/** The sender's id in the headers, `ce_id` before `message-id`; null when there is no usable one. */
export function messageIdOf(headers: MessageHeaders): string | null {
  const messageId = headerText(headers, 'ce_id') ?? headerText(headers, 'message-id');
  return isIdentifier(messageId) ? messageId : null;
}
