/** As much of a partition's part of a fetch as is decided by here. */
interface FetchedData {
  messages: readonly FetchedMessage[];
  abortedTransactions?: readonly unknown[] | null;
}

interface FetchedMessage {
  /** {@link offset} as a number, where it was read in our way. */
  position?: number;
  offset: string;
  isControlRecord?: boolean;
}

/** What kafkajs's consumers are given: a partition's messages out of one fetch. */
interface FetchedBatch {
  rawMessages: readonly FetchedMessage[];
  messagesWithinOffset: readonly FetchedMessage[];
  messages: readonly FetchedMessage[];
}

export type BatchClass = new (
  ...fetched: [topic: string, fetchedOffset: string, data: FetchedData]
) => FetchedBatch;

/**
 * Chooses what of a fetch is handed on without making objects of each message's offset: of the messages, which come
 * in the order of their offsets, those before the one that was asked for are left out, and control records.
 */
export function leanBatch(BatchOfKafkajs: BatchClass): BatchClass {
  return class Batch extends BatchOfKafkajs {
    constructor(topic: string, fetchedOffset: string, data: FetchedData) {
      const hasAborted = (data.abortedTransactions?.length ?? 0) > 0;
      super(topic, fetchedOffset, hasAborted ? data : { ...data, messages: [] });
      if (hasAborted) return;
      const from = Number(fetchedOffset);
      const first = data.messages.findIndex((message) => positionOf(message) >= from);
      this.rawMessages = data.messages;
      this.messagesWithinOffset = first < 0 ? [] : data.messages.slice(first);
      this.messages = this.messagesWithinOffset.filter((message) => !message.isControlRecord);
    }
  };
}

function positionOf({ position, offset }: FetchedMessage): number {
  return position ?? Number(offset);
}
