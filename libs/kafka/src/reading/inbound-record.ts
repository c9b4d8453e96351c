import { type MessageHeaders, rejected } from '#libs/contracts';
import { DecodedRecord, UnreadableRecord } from '#libs/kafkajs-patches';
import { type KafkaMessage, type Unreadable } from '../client/kafka-port.js';
import { toStoredRecord } from './stored-record.js';

/**
 * A record of an input topic, under the topic's name without the prefix. It may be read when it is asked for
 * something, each time again, so it must not be spread.
 */
export interface InboundRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  /** Milliseconds since the epoch, as Kafka has it. */
  readonly timestamp: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: MessageHeaders;
  /** Of key, value and headers, roughly: what parts them may count. */
  readonly bytes: number;
  /** Why it must be rejected, where that was found before anybody parsed it: it lacks its value, or its headers. */
  readonly unreadable?: Unreadable | undefined;
}

/** A fetched record under its topic's name without the prefix. */
export function toInboundRecord(
  topic: string,
  partition: number,
  message: KafkaMessage,
): InboundRecord {
  if (message instanceof DecodedRecord) return new UnreadRecord(topic, partition, message);
  const record = toStoredRecord(topic, partition, message);
  const bytes = lengthOf(record.key) + lengthOf(record.value);
  return message instanceof UnreadableRecord
    ? { ...record, bytes, unreadable: message.unreadable }
    : { ...record, bytes };
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
    return this.record.excess === undefined ? this.record.headerList : [];
  }

  get bytes(): number {
    return this.record.bytes;
  }

  get unreadable(): Unreadable | undefined {
    const { excess } = this.record;
    if (excess === undefined) return undefined;
    const { rejection } = rejected('too-large', `the message has ${excess}: left out`);
    return { rejection, omittedBytes: undefined };
  }
}

function lengthOf(part: Buffer | null): number {
  return part?.length ?? 0;
}
