import { hash as digest } from 'node:crypto';
import { type OutcomeSource, type OutcomeType, quoted } from './command-outcomes.js';
import { isIdentifier, rfc3339 } from './message-fields.js';
import type { MachineState } from './machine-records.js';
import {
  describeJson,
  field,
  isJsonObject,
  type JsonObject,
  MAX_BODY_BYTES,
  readJson,
  tooLarge,
  writeJson,
} from './json.js';
import { parsed, type Parsed, rejected, type Rejection } from './rejection.js';

/** A message without its CloudEvent and its schema frame. */
export interface Envelope {
  /** The sender's id of the message: `ce_id`, else `message-id`; null when absent or not a valid identifier. */
  messageId: string | null;
  /** The sender that ingest has named in the record's headers; null for any other record. */
  sender: string | null;
  /** As the sender wrote it. */
  contentType: string | null;
  body: Buffer;
}

/** A header of a record. Kafka distinguishes a missing value from an empty one. */
export type MessageHeader = readonly [name: string, value: Buffer | string | null];

/** The headers of a record, in their order, which Kafka keeps. A name may occur several times. */
export type MessageHeaders = readonly MessageHeader[];

/**
 * The first value of a header as UTF-8 text; null when it is absent or empty. A header of exactly this name has
 * precedence over one whose name differs in case.
 *
 * @param name in lower case
 */
export function headerText(headers: MessageHeaders, name: string): string | null {
  const value = valueOf(headers, name);
  const text = typeof value === 'string' ? value : value?.toString('utf8');
  return text === undefined || text === '' ? null : text;
}

function valueOf(headers: MessageHeaders, name: string): MessageHeader[1] {
  for (const header of headers) if (header[0] === name) return header[1];
  for (const header of headers) if (isInOtherCase(header[0], name)) return header[1];
  return null;
}

/** Compares the lengths first, which is cheaper and differs for most names. */
function isInOtherCase(other: string, name: string): boolean {
  return other.length === name.length && other.toLowerCase() === name;
}

/** The bare type of a content type, lower case, without parameters such as a charset; null when absent. */
export function mediaType(contentType: string | null): string | null {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? null;
}

/** The charset that a content type declares, lower case; undefined without one. */
export function charsetOf(contentType: string | null): string | undefined {
  return /;\s*charset\s*=\s*"?([\w.-]+)/i.exec(contentType ?? '')?.[1]?.toLowerCase();
}

export function isJsonType(type: string | null): boolean {
  return type === 'application/json' || type === 'text/json' || type?.endsWith('+json') === true;
}

/** Content type of a CloudEvent in structured mode. */
export const STRUCTURED_MODE = 'application/cloudevents+json';

/**
 * Opens a plain message, or a CloudEvent 1.0 in binary or structured mode (content type
 * `application/cloudevents+json`), each with or without the frame of a schema registry. Rejections: `invalid-json` (no
 * value, or a structured event that is not JSON), `invalid-message` (JSON that is not a CloudEvent, or a frame whose
 * payload is not JSON), `too-large` (above 1 MiB), and that of an unreadable record.
 */
export function openEnvelope(record: {
  value: Buffer | null;
  headers: MessageHeaders;
  decoded?: Parsed<Buffer> | undefined;
  unreadable?: { rejection: Rejection } | undefined;
}): Parsed<Envelope> {
  // Read once: a fetched message parses them at each access.
  const { value, headers, decoded, unreadable } = record;
  if (unreadable !== undefined) return { ok: false, rejection: unreadable.rejection };
  if (value === null) return rejected('invalid-json', 'the message has no value');
  if (value.length > MAX_BODY_BYTES) return tooLarge(value.length);
  const body = decoded ?? bodyOfValue(value, headers);
  if (!body.ok) return body;
  const contentType = contentTypeOf(headers, decoded !== undefined);
  const sender = senderOf(headers);
  if (mediaType(contentType) === STRUCTURED_MODE) return openStructuredEvent(body.value, sender);
  return parsed({ messageId: messageIdOf(headers), sender, contentType, body: body.value });
}

function bodyOfValue(value: Buffer, headers: MessageHeaders): Parsed<Buffer> {
  const frame = schemaFrameOf({ value, headers });
  return frame === undefined ? parsed(value) : readFrameWithoutRegistry(frame);
}

/** The content type. For a decoded value, ignores a header that names the encoding before decoding. */
function contentTypeOf(headers: MessageHeaders, isDecoded: boolean): string | null {
  const contentType = headerText(headers, 'content-type');
  if (!isDecoded || isJsonType(mediaType(contentType))) return contentType;
  return null;
}

/** The sender's id in the headers, `ce_id` before `message-id`; null when absent or not a valid identifier. */
export function messageIdOf(headers: MessageHeaders): string | null {
  const messageId = headerText(headers, 'ce_id') ?? headerText(headers, 'message-id');
  return isIdentifier(messageId) ? messageId : null;
}

/** The sender that ingest has named in the headers of a record; null for any other record. */
export function senderOf(headers: MessageHeaders): string | null {
  const sender = headerText(headers, INGEST_SENDER_HEADER);
  return isIdentifier(sender) ? sender : null;
}

export const INGEST_SENDER_HEADER = 'ingest-sender';

const REQUIRED_ATTRIBUTES = ['id', 'source', 'type'] as const;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Opens a CloudEvent in JSON: its data become the body, its id the messageId. */
function openStructuredEvent(value: Buffer, sender: string | null): Parsed<Envelope> {
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
  return parsed({ messageId: isIdentifier(id) ? id : null, sender, contentType, body: body.value });
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
  // a string of JSON content remains a JSON string; of any other content it is the document itself
  const isText = typeof data === 'string' && !isJsonType(mediaType(contentType));
  const body = isText ? markedAsUtf8(data) : writeJson(data);
  if (body === undefined) {
    return rejected('invalid-message', 'CloudEvent data holds a number that is too large');
  }
  return parsed(Buffer.from(body, 'utf8'));
}

/**
 * Adds a byte order mark to XML. Its declaration, or its content type, may still name the encoding that the document
 * had before it became a JSON string.
 */
function markedAsUtf8(text: string): string {
  return /^[ \t\r\n]*</.test(text) ? `\ufeff${text}` : text;
}

function decodeBase64(text: unknown): Parsed<Buffer> {
  if (typeof text !== 'string' || text.length % 4 !== 0 || !BASE64.test(text)) {
    return rejected('invalid-message', 'CloudEvent data_base64 must be base64 text');
  }
  return parsed(Buffer.from(text, 'base64'));
}

/**
 * The wire format of serializers for Confluent's Schema Registry: the byte 0 and four bytes of schema id before the
 * value, or the byte 1 and a GUID of 16 bytes in a header. Indexes of a Protobuf message follow the id.
 */
export interface SchemaFrame {
  schema: SchemaReference;
  /** The bytes after the id, which is in the value or in the header. */
  payload: Buffer;
}

export type SchemaReference = { id: number } | { guid: string };

export interface FramedMessage {
  value: Buffer | null;
  headers: MessageHeaders;
}

const SCHEMA_HEADER = '__value_schema_id';
const BY_ID = 0;
const BY_GUID = 1;
const ID_FRAME_BYTES = 5;
const GUID_FRAME_BYTES = 17;

/** Undefined for a value without a frame. */
export function schemaFrameOf({ value, headers }: FramedMessage): SchemaFrame | undefined {
  if (value === null) return undefined;
  if (value[0] === BY_ID && value.length >= ID_FRAME_BYTES && !isUtf16Xml(value)) {
    // no registry assigns the id 0: a value of zero bytes has no frame
    if (value.readUInt32BE(1) !== 0) return openFrame(value);
  }
  for (const [name, content] of headers) {
    if (name !== SCHEMA_HEADER || content === null) continue;
    const frame = openFrame(typeof content === 'string' ? Buffer.from(content) : content);
    return frame && { ...frame, payload: Buffer.concat([frame.payload, value]) };
  }
  return undefined;
}

function openFrame(bytes: Buffer): SchemaFrame | undefined {
  if (bytes[0] === BY_ID && bytes.length >= ID_FRAME_BYTES) {
    return { schema: { id: bytes.readUInt32BE(1) }, payload: bytes.subarray(ID_FRAME_BYTES) };
  }
  if (bytes[0] !== BY_GUID || bytes.length < GUID_FRAME_BYTES) return undefined;
  const hex = bytes.toString('hex', 1, GUID_FRAME_BYTES);
  const guid = hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  return { schema: { guid }, payload: bytes.subarray(GUID_FRAME_BYTES) };
}

/** Puts JSON into the frame of its schema. */
export function frameJson(schemaId: number, json: string): Buffer {
  const value = Buffer.allocUnsafe(ID_FRAME_BYTES + Buffer.byteLength(json));
  value[0] = BY_ID;
  value.writeUInt32BE(schemaId, 1);
  value.write(json, ID_FRAME_BYTES);
  return value;
}

/** Removes the frame, if any, from a value that the bridge has published: JSON never begins with the byte 0. */
export function withoutFrame<T extends Uint8Array>(value: T): T {
  const isFramed = value[0] === BY_ID && value.length >= ID_FRAME_BYTES;
  return isFramed ? (value.subarray(ID_FRAME_BYTES) as T) : value;
}

/** `<` and the first byte of the next character in UTF-16. Read as an id, these bytes are above 10^9. */
function isUtf16Xml(value: Buffer): boolean {
  return value[1] === 0x3c && value[2] === 0;
}

/** The body of a framed value where no registry is configured. Its reader refuses faulty JSON. */
export function readFrameWithoutRegistry(frame: SchemaFrame): Parsed<Buffer> {
  if (looksLikeJson(frame.payload)) return parsed(frame.payload);
  const what = `the value has a Confluent frame with ${describeSchema(frame.schema)} and carries no JSON`;
  const remedy = 'set KAFKA_SCHEMA_REGISTRY_URL to have Avro and Protobuf read';
  return rejected('invalid-message', `${what}: ${remedy}`);
}

export function describeSchema(schema: SchemaReference): string {
  return 'id' in schema ? `schema id ${schema.id}` : `schema GUID ${schema.guid}`;
}

/**
 * Whether a payload is certain to be JSON, without a look at its schema. A bracket at the beginning alone may be the
 * length of a string in Avro.
 */
export function carriesJson(payload: Buffer): boolean {
  if (!looksLikeJson(payload)) return false;
  return /[}\]][ \t\r\n]*$/.test(payload.toString('latin1', Math.max(0, payload.length - 64)));
}

function looksLikeJson(payload: Buffer): boolean {
  return /^[ \t\r\n]*[{[]/.test(payload.toString('latin1', 0, 64));
}

interface CloudEventAttributes {
  id: string;
  source: string;
  type: string;
  /** Epoch seconds; written as RFC 3339. */
  time: number;
  /** The machineId, for events about one machine. */
  subject?: string | undefined;
  /** CloudEvents extension attributes by their name without `ce_`, such as {@link SEQUENCE_EXTENSION}. */
  extensions?: Readonly<Record<string, string>>;
}

/** Extension that counts a machine's events from 1 without gaps; its header is `ce_sequence`. */
export const SEQUENCE_EXTENSION = 'sequence';

/** `ce_source` of outcomes and of every other event without a factory. */
export const BRIDGE_SOURCE = '/machine-bridge';

/** `ce_source` of state events: a URI reference, so the factoryId, which may hold any character, is encoded. */
export function factorySource(factoryId: string): string {
  const encodable = factoryId.replace(/\p{Cs}/gu, '\ufffd');
  return `${BRIDGE_SOURCE}/factories/${encodeURIComponent(encodable)}`;
}

/** Headers of CloudEvents 1.0 in Kafka's binary mode; the record's value is the data as JSON. */
export function cloudEventHeaders(event: CloudEventAttributes): Record<string, string> {
  const { extensions } = event;
  const headers = attributeHeaders(event);
  for (const name in extensions) headers[`ce_${name}`] = extensions[name] ?? '';
  return headers;
}

/** Two literals, because a field added later takes memory of its own, and nearly every event has a subject. */
function attributeHeaders(event: CloudEventAttributes): Record<string, string> {
  const { id, source, type, time, subject } = event;
  if (subject === undefined) {
    return {
      ce_specversion: '1.0',
      ce_id: id,
      ce_source: source,
      ce_type: type,
      ce_time: rfc3339(time),
      'content-type': 'application/json',
    };
  }
  return {
    ce_specversion: '1.0',
    ce_id: id,
    ce_source: source,
    ce_type: type,
    ce_time: rfc3339(time),
    'content-type': 'application/json',
    ce_subject: subject,
  };
}

/**
 * `ce_id` of a state change: 64 hexadecimal digits, a hash of the change without the time of the poll, so that a change
 * found twice has the same id. JSON separates the parts: without it, ("a", "bc") and ("ab", "c") would collide.
 */
export function stateChangeId(
  machineId: string,
  startTime: number,
  state: MachineState,
  revision: number,
): string {
  return digest('sha256', JSON.stringify([machineId, startTime, state, revision]));
}

/**
 * `ce_id` of an outcome: the same message, order, machine and outcome give the same id after a crash. A hash of a JSON
 * list, which is written by hand because every message has one.
 *
 * @param orderId of order messages
 */
export function outcomeId(
  source: Pick<OutcomeSource, 'topic' | 'partition' | 'offset'>,
  machineId: string | null,
  type: OutcomeType,
  orderId?: string,
): string {
  const { topic, partition, offset } = source;
  const place = `${quoted(topic)},${partition},${offset}`;
  const order = orderId === undefined ? '' : `,${quoted(orderId)}`;
  return digest('sha256', `[${place},${quoted(machineId)},"${type}"${order}]`);
}
