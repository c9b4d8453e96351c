import { createRequire } from 'node:module';
import fc from 'fast-check';
import type { MessageHeaders } from '#libs/contracts';
import type { DecodedRecord } from '../fetched-record.js';
import type { MessageFields } from '../produce-request.js';

/** Input of kafkajs's record encoder. */
export interface RecordFields extends Omit<MessageFields, 'timestamp'> {
  offsetDelta?: number;
  /** Milliseconds after the batch's first record; negative for an older record. */
  timestampDelta?: number;
}

const byKafkajs = createRequire(import.meta.url)(
  'kafkajs/src/protocol/recordBatch/record/v0/index.js',
) as (record: RecordFields) => { buffer: Buffer };

/** Encodes a record of a record batch (magic 2), with its length. */
export function encodeRecord(record: RecordFields): Buffer {
  return byKafkajs(record).buffer;
}

/** Any but half a surrogate pair. fast-check's unit `binary` is the same, but takes over a second to create. */
export const anyCharacter = fc
  .oneof(fc.nat({ max: 0xff }), fc.nat({ max: 0x10f7ff }))
  .map((number) => String.fromCodePoint(number < 0xd800 ? number : number + 0x800));

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
const large = fc.nat({ max: 12_000 }).map((size) => Buffer.alloc(size, 'x'));
// kafkajs takes a property that an object inherits under such a name for a header.
const name = fc.string({ maxLength: 20 }).filter((text) => !(text in {}));

/** Any record that kafkajs decodes as it was encoded. */
export const recordFields: fc.Arbitrary<RecordFields> = fc.record(
  {
    offsetDelta: fc.nat({ max: 2 ** 21 }),
    timestampDelta: fc.integer({ min: -(2 ** 40), max: 2 ** 40 }),
    key: fc.option(bytes),
    value: fc.option(fc.oneof({ weight: 4, arbitrary: bytes }, large)),
    headers: fc.dictionary(name, fc.oneof(bytes, fc.array(bytes, { minLength: 2, maxLength: 3 })), {
      maxKeys: 9,
    }),
  },
  { requiredKeys: ['value'] },
);

type Value = Buffer | string | null | undefined;
type HeadersByName = Record<string, Value | Value[]>;

/** A record as kafkajs decodes it. */
export type KafkajsRecord = Pick<
  DecodedRecord,
  'timestamp' | 'offset' | 'key' | 'value' | 'isControlRecord' | 'batchContext'
> & { headers: HeadersByName };

/** The content of a record decoded in either way; bytes as text, which compares much faster. */
export function plainRecord(record: DecodedRecord | KafkajsRecord): object {
  const { timestamp, offset, key, value, isControlRecord, batchContext } = record;
  const headers = 'headers' in record ? record.headers : byName(record.headerList);
  return {
    ...{ timestamp, offset, isControlRecord, batchContext },
    key: textOf(key),
    value: textOf(value),
    headers: Object.entries(headers).map(([name, one]) => [name, textOf(one)]),
  };
}

/** Headers in kafkajs's form: several values under one name are a list. */
function byName(headers: MessageHeaders): HeadersByName {
  const named = new Map<string, Value[]>();
  for (const [name, value] of headers) named.set(name, [...(named.get(name) ?? []), value]);
  return Object.fromEntries(
    [...named].map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
  );
}

function textOf(value: Value | Value[]): unknown {
  if (Array.isArray(value)) return value.map(textOf);
  return Buffer.isBuffer(value) ? `bytes ${value.toString('latin1')}` : value;
}
