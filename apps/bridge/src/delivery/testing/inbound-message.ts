import type { InboundMessage, OutboundRecord } from '#libs/kafka';
import { NO_SPAN } from '#libs/tracing';

/** A message without Kafka that keeps what was said of it. */
export interface KeptMessage extends InboundMessage {
  /** How it ended, in order: it should do so once. */
  readonly ends: ('finished' | 'abandoned' | 'set aside' | Error)[];
  /** What was told before its end, and the item that is done by it. */
  readonly told: { readonly records: readonly OutboundRecord[]; readonly item?: number }[];
  /** What its last transaction writes. */
  readonly last: OutboundRecord[];
}

/**
 * @param said what is known of it; what it is told goes to `ends`, `told` and `last` unless that is said otherwise here
 */
export function inboundMessage(said: Partial<InboundMessage> = {}): KeptMessage {
  const kept: Pick<KeptMessage, 'ends' | 'told' | 'last'> = { ends: [], told: [], last: [] };
  const isDone = (item: number): boolean => kept.told.some((told) => told.item === item);
  const message: KeptMessage = {
    ...{ topic: 'a-topic', partition: 0, offset: 0, timestamp: '0', bytes: 1 },
    ...{ key: null, value: null, headers: [], revoked: new AbortController().signal },
    span: NO_SPAN,
    isItemDone: isDone,
    publish: (records, item) => kept.told.push({ records, ...(item !== undefined && { item }) }),
    finish: (records = []) => {
      kept.last.push(...records);
      kept.ends.push('finished');
    },
    finishWith: (others, records) => {
      message.finish(records);
      for (const other of others) other.finish();
    },
    abandon: () => kept.ends.push('abandoned'),
    fail: (error, isAnswered) =>
      kept.ends.push(isAnswered === true ? 'set aside' : (error as Error)),
    ...said,
    ...kept,
  };
  return message;
}
