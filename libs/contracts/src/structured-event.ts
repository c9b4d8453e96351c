import type { Envelope } from './envelope.js';
import { isIdentifier } from './identifier.js';
import { describeJson, field, isJsonObject, type JsonObject } from './json-object.js';
import { isJsonType, mediaType } from './media-type.js';
import { readJson } from './read-json.js';
import { parsed, rejected, type Parsed } from './rejection.js';

const REQUIRED_ATTRIBUTES = ['id', 'source', 'type'] as const;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** A CloudEvent in JSON; what it carries becomes the body, its id the messageId. */
export function openStructuredEvent(value: Buffer): Parsed<Envelope> {
  const json = readJson(value);
  if (!json.ok) return json;
  const event = json.value;
  if (!isJsonObject(event)) {
    return rejected(
      'invalid-message',
      `the CloudEvent must be an object, not ${describeJson(event)}`,
    );
  }
  const fault = attributeProblem(event);
  if (fault !== undefined) return rejected('invalid-message', `CloudEvent ${fault}`);
  const contentType = field(event, 'datacontenttype') ?? 'application/json';
  if (typeof contentType !== 'string') {
    return rejected('invalid-message', 'CloudEvent datacontenttype must be a string');
  }
  const body = bodyOf(event, contentType);
  if (!body.ok) return body;
  const id = field(event, 'id');
  return parsed({ messageId: isIdentifier(id) ? id : null, contentType, body: body.value });
}

function attributeProblem(event: JsonObject): string | undefined {
  if (field(event, 'specversion') !== '1.0') return 'specversion must be "1.0"';
  const missing = REQUIRED_ATTRIBUTES.find((name) => {
    const value = field(event, name);
    return typeof value !== 'string' || value === '';
  });
  return missing === undefined ? undefined : `${missing} must be a string that is not empty`;
}

function bodyOf(event: JsonObject, contentType: string): Parsed<Buffer> {
  const data = field(event, 'data');
  const base64 = field(event, 'data_base64') ?? undefined;
  if (data !== undefined && base64 !== undefined) {
    return rejected('invalid-message', 'CloudEvent has both data and data_base64');
  }
  if (base64 !== undefined) return decodeBase64(base64);
  if (data === undefined) return rejected('invalid-message', 'CloudEvent carries no data');
  // in JSON content a string stays a JSON string; in any other content it is the document itself
  const isText = typeof data === 'string' && !isJsonType(mediaType(contentType));
  return parsed(Buffer.from(isText ? data : JSON.stringify(data), 'utf8'));
}

function decodeBase64(text: unknown): Parsed<Buffer> {
  if (typeof text !== 'string' || text.length % 4 !== 0 || !BASE64.test(text)) {
    return rejected('invalid-message', 'CloudEvent data_base64 must be base64 text');
  }
  return parsed(Buffer.from(text, 'base64'));
}
