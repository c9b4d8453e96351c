import {
  type AbortedTransaction,
  committedMessages,
  positionOf,
  type TransactionalMessage,
} from './committed-messages.js';

/** As much of a partition's part of a fetch as is decided by here. */
interface FetchedData {
  messages: readonly TransactionalMessage[];
  abortedTransactions?: readonly AbortedTransaction[] | null;
}

/** What kafkajs's consumers are given: a partition's messages out of one fetch. */
interface FetchedBatch {
  rawMessages: readonly TransactionalMessage[];
  messagesWithinOffset: readonly TransactionalMessage[];
  messages: readonly TransactionalMessage[];
}

export type BatchClass = new (
  ...fetched: [topic: string, fetchedOffset: string, data: FetchedData]
) => FetchedBatch;

/**
 * Chooses what of a fetch is handed on without making objects of each message's offset: of the messages, which come
 * in the order of their offsets, those before the one that was asked for are left out, control records, and what
 * is in an aborted transaction. kafkajs takes the aborted ones for sorted by where they begin, which they are not,
 * and lets messages through where such transactions overlap.
 */
export function leanBatch(BatchOfKafkajs: BatchClass): BatchClass {
  return class Batch extends BatchOfKafkajs {
    constructor(topic: string, fetchedOffset: string, data: FetchedData) {
      super(topic, fetchedOffset, { ...data, messages: [] });
      const from = Number(fetchedOffset);
      const first = data.messages.findIndex((message) => positionOf(message) >= from);
      const within = first < 0 ? [] : data.messages.slice(first);
      const aborted = data.abortedTransactions ?? [];
      const committed = aborted.length === 0 ? within : committedMessages(within, aborted);
      this.rawMessages = data.messages;
      this.messagesWithinOffset = within;
      this.messages = committed.filter((message) => !message.isControlRecord);
    }
  };
}
