import { parsed, type Parsed, rejected } from './rejection.js';

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
  headers: readonly (readonly [name: string, value: Buffer | string | null])[];
}

const HEADER = '__value_schema_id';
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
    if (name !== HEADER || content === null) continue;
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
