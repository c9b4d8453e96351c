import { type DecodedRecord } from '../fixes/decoded-record.js';

type Value = Buffer | string | (Buffer | string)[] | null | undefined;

/** What a record says, read in any way; bytes as text, which is compared much faster. */
export function plainRecord(record: DecodedRecord): object {
  const { magicByte, attributes, timestamp, offset, key, value, isControlRecord } = record;
  const { headers, batchContext } = record;
  return {
    ...{ magicByte, attributes, timestamp, offset, isControlRecord, batchContext },
    key: textOf(key),
    value: textOf(value),
    headers: Object.entries(headers).map(([name, one]) => [name, textOf(one)]),
  };
}

function textOf(value: Value): unknown {
  if (Array.isArray(value)) return value.map(textOf);
  return Buffer.isBuffer(value) ? `bytes ${value.toString('latin1')}` : value;
}
