import type { DocumentPath, IngestSender } from '#libs/config';
import {
  type InputTopic,
  isIdentifier,
  isJsonObject,
  mediaType,
  parsed,
  type Parsed,
  readJson,
  rejected,
  STRUCTURED_MODE,
  TOPICS,
  uriDecoded,
  writeJson,
} from '#libs/contracts';
import { matchesPattern } from '#libs/erp-formats';

/** Headers of a request by lower-case name; all values of a repeated one. */
type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** A message as written to its topic, without the key. */
export interface Message {
  topic: InputTopic;
  value: Buffer;
  /** Compact JSON of a structured event, as in a batch: a repetition has that of the first message with its id. */
  compact?: Buffer;
  headers: (readonly [name: string, value: string])[];
  /** The sender's id, and the scope of the sender in which it is unique; undefined if none was sent. */
  id: { source: string; value: string } | undefined;
  /** Identifies a repetition instead of the id, which the signature does not cover. */
  signedId?: string;
}

const TOPIC_OF: Readonly<Record<DocumentPath, InputTopic>> = {
  '/orders': TOPICS.workOrders,
  '/lists': TOPICS.workOrderLists,
  '/reasons': TOPICS.downtimeReasons,
};

const BATCHED = 'application/cloudevents-batch+json';
const MAX_EVENTS = 1000;
/** Headers passed on unchanged: the original topic of UMH, and traces. */
const FORWARDED_HEADERS = ['source-topic', 'umh_topic', 'traceparent', 'tracestate'];
const REQUIRED_ATTRIBUTES = ['id', 'source', 'type', 'specversion'] as const;

/**
 * Reads a request to the path of one topic: a document as it is, or a CloudEvent in binary or structured mode.
 *
 * @param signedId `webhook-id` of a signed request: the signature covers only it and the body
 */
export function readDocument(
  path: DocumentPath,
  headers: RequestHeaders,
  body: Buffer,
  signedId?: string,
): Parsed<Message> {
  const topic = TOPIC_OF[path];
  const contentType = headerOf(headers, 'content-type') ?? null;
  if (mediaType(contentType) === STRUCTURED_MODE) {
    const event = readEvent(body);
    return event.ok ? parsed(structuredAlone(topic, event.value, headers, body)) : event;
  }
  if (headerOf(headers, 'ce-specversion') !== undefined) {
    return binaryMessage(topic, headers, body, signedId);
  }
  const key = signedId ?? headerOf(headers, 'idempotency-key') ?? headerOf(headers, 'webhook-id');
  if (key !== undefined && !isIdentifier(key)) {
    return rejected('invalid-message', 'the Idempotency-Key must have 1 to 256 plain characters');
  }
  return parsed({
    topic,
    value: body,
    headers: forwardedHeaders(headers),
    id: key === undefined ? undefined : { source: '', value: key },
  });
}

/**
 * Reads CloudEvents in binary, structured or batched mode; each event's type chooses its topic.
 *
 * @param signedId as in {@link readDocument}
 */
export function readEvents(
  headers: RequestHeaders,
  body: Buffer,
  eventTypes: IngestSender['eventTypes'],
  signedId?: string,
): Parsed<{ messages: Message[]; isBatch: boolean }> {
  const type = mediaType(headerOf(headers, 'content-type') ?? null);
  if (type === BATCHED) return readBatch(headers, body, eventTypes);
  const isStructured = type === STRUCTURED_MODE;
  const event = isStructured ? readEvent(body) : parsed(attributesOf(headers));
  if (!event.ok) return event;
  const topic = topicOfType(event.value['type'], eventTypes);
  if (!topic.ok) return topic;
  const message = isStructured
    ? parsed(structuredAlone(topic.value, event.value, headers, body))
    : binaryMessage(topic.value, headers, body, signedId);
  return message.ok ? parsed({ messages: [message.value], isBatch: false }) : message;
}

function readBatch(
  headers: RequestHeaders,
  body: Buffer,
  eventTypes: IngestSender['eventTypes'],
): Parsed<{ messages: Message[]; isBatch: boolean }> {
  const json = readJson(body);
  if (!json.ok) return json;
  if (!Array.isArray(json.value)) return rejected('invalid-message', 'a batch must be an array');
  if (json.value.length > MAX_EVENTS) {
    return rejected('too-large', `the batch has more than ${MAX_EVENTS} events`);
  }
  const messages: Message[] = [];
  for (const [index, event] of json.value.entries()) {
    const fault = eventFault(event);
    if (fault !== undefined) return rejected('invalid-message', `event ${index}: ${fault}`);
    const topic = topicOfType((event as Event)['type'], eventTypes);
    if (!topic.ok)
      return rejected(topic.rejection.code, `event ${index}: ${topic.rejection.detail}`);
    const value = writeJson(event);
    if (value === undefined) {
      return rejected('invalid-message', `event ${index}: it holds a number that is too large`);
    }
    messages.push(structuredMessage(topic.value, event as Event, headers, Buffer.from(value)));
  }
  return parsed({ messages, isBatch: true });
}

type Event = Record<string, unknown>;

function structuredMessage(
  topic: InputTopic,
  event: Event,
  headers: RequestHeaders,
  value: Buffer,
): Message {
  const others = forwardedHeaders(headers).filter(([name]) => name !== 'content-type');
  return {
    ...{ topic, value, id: idOf(event) },
    headers: [['content-type', `${STRUCTURED_MODE}; charset=UTF-8`], ...others],
  };
}

function structuredAlone(
  topic: InputTopic,
  event: Event,
  headers: RequestHeaders,
  value: Buffer,
): Message {
  const message = structuredMessage(topic, event, headers, value);
  const compact = writeJson(event);
  const isCompact = compact === undefined || value.equals(Buffer.from(compact));
  return isCompact ? message : { ...message, compact: Buffer.from(compact) };
}

function binaryMessage(
  topic: InputTopic,
  headers: RequestHeaders,
  value: Buffer,
  signedId: string | undefined,
): Parsed<Message> {
  const attributes = attributesOf(headers);
  const fault = eventFault(attributes);
  if (fault !== undefined) return rejected('invalid-message', fault);
  const named = Object.entries(attributes).map(([name, text]) => [`ce_${name}`, text] as const);
  return parsed({
    ...{ topic, value, id: idOf(attributes) },
    headers: [...named, ...forwardedHeaders(headers)],
    ...(signedId !== undefined && { signedId }),
  });
}

function readEvent(body: Buffer): Parsed<Event> {
  const json = readJson(body);
  if (!json.ok) return json;
  const fault = eventFault(json.value);
  return fault === undefined ? parsed(json.value as Event) : rejected('invalid-message', fault);
}

function eventFault(event: unknown): string | undefined {
  if (!isJsonObject(event)) return 'the CloudEvent must be an object';
  const missing = REQUIRED_ATTRIBUTES.find(
    (name) => typeof event[name] !== 'string' || event[name] === '',
  );
  if (missing !== undefined) return `the CloudEvent needs ${missing}`;
  if (event['specversion'] !== '1.0') return 'the specversion of the CloudEvent must be 1.0';
  if (!isIdentifier(event['id'])) {
    return 'the id of the CloudEvent must have 1 to 256 plain characters';
  }
  return undefined;
}

/** Attributes from binary-mode headers: percent-encoded, and in earlier versions of the binding quoted. */
function attributesOf(headers: RequestHeaders): Record<string, string> {
  const attributes: Record<string, string> = {};
  for (const header of Object.keys(headers)) {
    const name = /^ce-([a-z0-9]+)$/.exec(header)?.[1];
    const value = headerOf(headers, header);
    if (name !== undefined && value !== undefined) attributes[name] = uriDecoded(unquoted(value));
  }
  return attributes;
}

/** The content of an HTTP quoted string; other text unchanged. */
function unquoted(text: string): string {
  const content = /^"((?:[^"\\]|\\.)*)"$/.exec(text)?.[1];
  return content?.replace(/\\(.)/g, '$1') ?? text;
}

function idOf(event: Event): Message['id'] {
  return { source: String(event['source']), value: String(event['id']) };
}

function topicOfType(type: unknown, eventTypes: IngestSender['eventTypes']): Parsed<InputTopic> {
  if (typeof type !== 'string' || type === '') {
    return rejected('invalid-message', 'the CloudEvent needs type');
  }
  const own = Object.values(TOPIC_OF).find((topic) => topic === type);
  const path = eventTypes.find(([pattern]) => matchesPattern(pattern, type))?.[1];
  const topic = path === undefined ? own : TOPIC_OF[path];
  if (topic !== undefined) return parsed(topic);
  return rejected('invalid-message', `no path is set for events of type ${type}`);
}

function forwardedHeaders(headers: RequestHeaders): (readonly [string, string])[] {
  return ['content-type', ...FORWARDED_HEADERS].flatMap((name) => {
    const value = headerOf(headers, name);
    return value === undefined ? [] : [[name, value] as const];
  });
}

export function headerOf(headers: RequestHeaders, name: string): string | undefined {
  const value = headers[name];
  const text = Array.isArray(value) ? value[0] : value;
  if (text === undefined || text === '') return undefined;
  // Node decodes headers as Latin-1; most senders write UTF-8
  const utf8 = Buffer.from(text, 'latin1').toString();
  return utf8.includes('\ufffd') ? text : utf8;
}
