import { DecodedRecord } from '../exchanged/decoded-record.js';
import { type IHeaders, type KafkaMessage } from '../kafkajs.js';
import { type StoredRecord, toStoredRecord } from '../reading/stored-record.js';
import { type InboundRecord } from './inbound-message.js';

/** A fetched record under its topic's name without the prefix. */
export function toInboundRecord(
  topic: string,
  partition: number,
  message: KafkaMessage,
): InboundRecord {
  if (message instanceof DecodedRecord) return new UnreadRecord(topic, partition, message);
  const record = toStoredRecord(topic, partition, message);
  return { ...record, bytes: bytesOf(record) };
}

/** One that is read when it is asked for something: not to be spread, as {@link DecodedRecord}. */
class UnreadRecord implements InboundRecord {
  constructor(
    readonly topic: string,
    readonly partition: number,
    private readonly record: DecodedRecord,
  ) {}

  get offset(): number {
    return this.record.position;
  }

  get timestamp(): string {
    return this.record.timestamp;
  }

  get key(): Buffer | null {
    return this.record.key;
  }

  get value(): Buffer | null {
    return this.record.value;
  }

  get headers(): IHeaders {
    return this.record.headers;
  }

  get bytes(): number {
    return this.record.bytes;
  }
}

function bytesOf({ key, value, headers }: StoredRecord): number {
  return lengthOf(key) + lengthOf(value) + lengthOfHeaders(headers);
}

function lengthOfHeaders(headers: IHeaders): number {
  let bytes = 0;
  for (const [name, value] of Object.entries(headers)) {
    const values = Array.isArray(value) ? value : [value ?? null];
    bytes += values.reduce((sum, one) => sum + lengthOf(one), name.length);
  }
  return bytes;
}

function lengthOf(part: Buffer | string | null): number {
  return part?.length ?? 0;
}
