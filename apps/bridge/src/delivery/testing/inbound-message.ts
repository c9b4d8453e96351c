import type { InboundMessage, OutboundRecord } from '#libs/kafka';
import { NO_SPAN } from '#libs/tracing';
import type { InboundTarget } from '../command.js';

/** The target of the outcomes of a message without an id of its sender. */
export function targetOf(message: KeptMessage): InboundTarget & { message: KeptMessage } {
  const { topic, partition, offset } = message;
  return { message, source: { topic, partition, offset, messageId: null } };
}

/** A message without Kafka that records how it was handled. */
export interface KeptMessage extends InboundMessage {
  /** How the message ended, in order; once, if the code is right. */
  readonly ends: ('finished' | 'abandoned' | 'dead-lettered' | Error)[];
  /** Records published before its end, and the item they complete. */
  readonly published: { readonly records: readonly OutboundRecord[]; readonly item?: number }[];
  /** Records of its last transaction. */
  readonly last: OutboundRecord[];
}

/** @param given properties of the message. Methods that are not given write to `ends`, `published` and `last`. */
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
    fail: (error, areCallsAnswered) =>
      kept.ends.push(areCallsAnswered === true ? 'dead-lettered' : (error as Error)),
    ...said,
    ...kept,
  };
  return message;
}
