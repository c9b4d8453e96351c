import { realDelayMs } from '#libs/clock';

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
 * A record batch may hold four times as many, and each takes memory beside its bytes for as long as it waits. The next
 * fetch begins behind the last that was handed on, with the same batch: 100,000 empty messages, all rejected, grew the
 * process by 223 MB at once, and by 173 MB in portions.
 */
const MOST_MESSAGES = 25_000;

/**
 * Chooses what of a fetch is handed on, up to that number, without making objects of each message's offset: of the
 * messages, which come in the order of their offsets, those before the one that was asked for are left out, control
 * records, and what is in an aborted transaction. kafkajs takes the aborted ones for sorted by where they begin, which
 * they are not, and lets messages through where such transactions overlap.
 */
export function committedBatch(BatchOfKafkajs: BatchClass): BatchClass {
  return class Batch extends BatchOfKafkajs {
    constructor(topic: string, fetchedOffset: string, data: FetchedData) {
      super(topic, fetchedOffset, { ...data, messages: [] });
      const from = Number(fetchedOffset);
      const first = data.messages.findIndex((message) => positionOf(message) >= from);
      const within = first < 0 ? [] : data.messages.slice(first, first + MOST_MESSAGES);
      const aborted = data.abortedTransactions ?? [];
      const committed = aborted.length === 0 ? within : committedMessages(within, aborted);
      this.rawMessages = data.messages;
      this.messagesWithinOffset = within;
      this.messages = committed.filter((message) => !message.isControlRecord);
    }
  };
}

/** As much of a fetched message as decides whether its transaction was committed. */
export interface TransactionalMessage {
  offset: string;
  /** {@link offset} as a number, where it was read in our way. */
  position?: number;
  key?: Buffer | string | null;
  isControlRecord?: boolean;
  /** Missing in the formats before Kafka 0.11, which know no transactions. */
  batchContext?: { producerId?: string; inTransaction?: boolean };
}

/** An aborted transaction in the answer to a fetch: from where on its producer's messages are part of it. */
export interface AbortedTransaction {
  producerId: string;
  firstOffset: string;
}

/** Types of control records that end a transaction, as Kafka has them: abort and commit. */
const ENDS: readonly number[] = [0, 1];
const TYPE_AT = 2;
const MARKER_KEY_BYTES = 4;

function positionOf({ position, offset }: TransactionalMessage): number {
  return position ?? Number(offset);
}

/**
 * What of a fetch is in no aborted transaction; the markers stay in. A transaction that was aborted begins with its
 * first offset and ends with its producer's next marker, and any number of them may be open at a time.
 *
 * @param messages in the order of their offsets
 * @param aborted in any order: Kafka lists them in that of their ends, and some may have begun before the fetch
 */
export function committedMessages<M extends TransactionalMessage>(
  messages: readonly M[],
  aborted: readonly AbortedTransaction[],
): M[] {
  const toBegin = aborted
    .map(({ producerId, firstOffset }) => ({ producerId, first: Number(firstOffset) }))
    .sort((a, b) => b.first - a.first);
  const aborting = new Set<string>();
  return messages.filter((message) => {
    const position = positionOf(message);
    for (let next = toBegin.at(-1); next && next.first <= position; next = toBegin.at(-1)) {
      aborting.add(next.producerId);
      toBegin.pop();
    }
    const { producerId = '', inTransaction = false } = message.batchContext ?? {};
    if (message.isControlRecord === true) {
      if (endsTransaction(message)) aborting.delete(producerId);
      return true;
    }
    return !(inTransaction && aborting.has(producerId));
  });
}

/** The key of a control record: version and type, 16 bits each. That of a message may be the same bytes. */
function endsTransaction({ key }: TransactionalMessage): boolean {
  // The end of a batch that compaction has emptied is shown as a control record without a key.
  if (!Buffer.isBuffer(key) || key.length < MARKER_KEY_BYTES) return false;
  return ENDS.includes(key.readInt16BE(TYPE_AT));
}

/** As much of kafkajs's part in a consumer group as decides what follows from a fetch that failed. */
interface RecoveringGroup {
  readonly cluster: { refreshMetadata(): Promise<void> };
  recoverFromFetch(error: { type?: unknown }): Promise<void>;
}

export type RecoveringGroupClass = new (options: never) => RecoveringGroup;

const LEADER_HAS_MOVED: readonly unknown[] = [
  'LEADER_NOT_AVAILABLE',
  'NOT_LEADER_FOR_PARTITION',
  'FENCED_LEADER_EPOCH',
  'UNKNOWN_LEADER_EPOCH',
];
/** Brokers learn of a new leader one after the other; each fetch before the last has fails again. */
const REFRESH_PAUSE_MS = 100;

/**
 * Asks who leads a partition by now, and goes on fetching. kafkajs joins the group anew instead, for which all calls
 * of this process have to come to rest and all members to give up what they have: a leader that moves takes nothing
 * from anybody.
 */
export function withLeaderMoves<G extends RecoveringGroupClass>(GroupOfKafkajs: G): G {
  const Base: RecoveringGroupClass = GroupOfKafkajs;
  return class ConsumerGroup extends Base {
    override async recoverFromFetch(error: { type?: unknown }): Promise<void> {
      if (!LEADER_HAS_MOVED.includes(error.type)) {
        await super.recoverFromFetch(error);
        return;
      }
      await realDelayMs(REFRESH_PAUSE_MS);
      await this.cluster.refreshMetadata();
    }
  } as unknown as G;
}
