import { type MessageHeaders } from '#libs/contracts';
import { DecodedRecord } from '../exchanged/decoded-record.js';
import { type KafkaMessage } from '../kafkajs.js';
import { toStoredRecord } from '../reading/stored-record.js';
import { type InboundRecord } from './inbound-message.js';

/** A fetched record under its topic's name without the prefix. */
export function toInboundRecord(
  topic: string,
  partition: number,
  message: KafkaMessage,
): InboundRecord {
  if (message instanceof DecodedRecord) return new UnreadRecord(topic, partition, message);
  const record = toStoredRecord(topic, partition, message);
  return { ...record, bytes: lengthOf(record.key) + lengthOf(record.value) };
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

  get headers(): MessageHeaders {
    return this.record.headerList;
  }

  get bytes(): number {
    return this.record.bytes;
  }
}

function lengthOf(part: Buffer | null): number {
  return part?.length ?? 0;
}
