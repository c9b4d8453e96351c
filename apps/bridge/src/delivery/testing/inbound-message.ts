import type { InboundMessage, OutboundRecord } from '#libs/kafka';
import { NO_SPAN } from '#libs/tracing';
import type { InboundTarget } from '../command.js';

/** What outcomes say of a message whose sender has given it no id. */
export function targetOf(message: KeptMessage): InboundTarget & { message: KeptMessage } {
  const { topic, partition, offset } = message;
  return { message, source: { topic, partition, offset, messageId: null } };
}

/** A message without Kafka that keeps what was said of it. */
export interface KeptMessage extends InboundMessage {
  /** How it ended, in order: it should do so once. */
  readonly ends: ('finished' | 'abandoned' | 'dead-lettered' | Error)[];
  /** What was published before its end, and the item that is done by it. */
  readonly published: { readonly records: readonly OutboundRecord[]; readonly item?: number }[];
  /** What its last transaction writes. */
  readonly last: OutboundRecord[];
}

/**
 * @param said what is known of it. Methods that are not given here write to `ends`, `published` and `last`.
 */
export function inboundMessage(said: Partial<InboundMessage> = {}): KeptMessage {
  const kept: Omit<KeptMessage, keyof InboundMessage> = { ends: [], published: [], last: [] };
  const message: KeptMessage = {
    ...{ topic: 'a-topic', partition: 0, offset: 0, timestamp: '0', bytes: 1 },
    ...{ key: null, value: null, headers: [], revoked: new AbortController().signal },
    ...{ span: NO_SPAN, decoded: undefined, unreadable: undefined },
    isItemDone: (item) => kept.published.some((each) => each.item === item),
    publish: (records, item) =>
      kept.published.push({ records, ...(item !== undefined && { item }) }),
    wasDeferred: false,
    publishDeferral: (records) => kept.published.push({ records }),
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
      kept.ends.push(isAnswered === true ? 'dead-lettered' : (error as Error)),
    ...said,
    ...kept,
  };
  return message;
}
