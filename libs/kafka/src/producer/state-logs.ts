import { Logger } from '@nestjs/common';
import type { KafkaClient } from '../client/kafka-port.js';
import { partitionName } from '../reading/stored-record.js';
import type { OutboundRecord } from './outbound-record.js';

/** Where a broker has stored the records of a partition. */
interface Stored {
  topicName: string;
  partition: number;
  /** Offset of the first. */
  baseOffset?: string;
}

/** Lower bounds of the ends of logs, by partition. */
type LogEnds = ReadonlyMap<string, number>;

/**
 * Notices that a log of state has lost records that Kafka had acknowledged: its topic was created again, or a leader
 * was elected that lacked its end. Kafka reports neither: it stores the next records at offsets that it has given
 * before, and the next restore yields less than was written.
 *
 * A process knows the logs that it has written to. It marks each partition of state before it restores it.
 */
export class StateLogs {
  /** Losses that were noticed, by topic. */
  readonly losses = new Map<string, number>();
  private readonly ends = new Map<string, number>();
  private readonly logger = new Logger('KeyedState');

  /** The known ends of the logs that hold these records, if they are of state: before they are sent. */
  endsOf(records: readonly OutboundRecord[]): LogEnds {
    const ends = new Map<string, number>();
    let last: OutboundRecord | undefined;
    for (const record of records) {
      const { topic, partition } = record;
      if (record.isState !== true || partition === undefined) continue;
      // Most are of one partition: a name for each would be a noticeable part of a list's cost.
      if (topic === last?.topic && partition === last.partition) continue;
      last = record;
      const name = partitionName(topic, partition);
      ends.set(name, this.ends.get(name) ?? 0);
    }
    return ends;
  }

  /** Compares where records are stored with the ends before they were sent: other writers store records meanwhile. */
  recordsStored(endsBefore: LogEnds, stored: readonly Stored[]): void {
    if (endsBefore.size === 0) return;
    for (const { topicName: topic, partition, baseOffset } of stored) {
      const name = partitionName(topic, partition);
      const before = endsBefore.get(name);
      const offset = Number(baseOffset);
      if (before === undefined || !(offset >= 0)) continue;
      const end = this.ends.get(name) ?? 0;
      // Below the end before, the end now is that of a loss which has been noticed meanwhile.
      const isShorter = offset < before && before <= end;
      this.ends.set(name, isShorter ? offset + 1 : Math.max(end, offset + 1));
      if (isShorter) this.logLoss({ topic, partition, offset, end: before });
    }
  }

  /** Whether this process has written to the log. */
  isKnown(topic: string, partition: number): boolean {
    return this.ends.has(partitionName(topic, partition));
  }

  /** @param loss with the offset of a record stored since and the former end of the log, unless nothing was left */
  logLoss(loss: { topic: string; partition: number; offset?: number; end?: number }): void {
    const msg =
      'state lost: its topic has fewer records than were written, see Lost state in docs/operations.md';
    this.logger.error({ msg, ...loss });
    this.losses.set(loss.topic, (this.losses.get(loss.topic) ?? 0) + 1);
  }
}

const byClient = new WeakMap<KafkaClient, StateLogs>();

/** All writers of a client share what they know: the state of a partition has several. */
export function stateLogsOf(kafka: KafkaClient): StateLogs {
  const known = byClient.get(kafka) ?? new StateLogs();
  byClient.set(kafka, known);
  return known;
}
