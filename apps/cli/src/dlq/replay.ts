import {
  DEAD_LETTER_HEADERS,
  headerText,
  type MessageHeader,
  type MessageHeaders,
  originalHeaders,
  REPLAY_HEADERS,
} from '#libs/contracts';
import type { IdempotentProducer, OutboundRecord } from '#libs/kafka';
import type { DeadLetter } from './dead-letter.js';
import { markTombstone, replayMark } from './replay-marks.js';
import { isSelected, type Selection } from './selection.js';

export interface ReplayRequest {
  selection: Selection;
  /** Replay those that have been replayed before, too. */
  again: boolean;
  /** The topics a message may be put back on, full names: existing inputs of the bridge. */
  inputTopics: ReadonlySet<string>;
  /** A message that has been replayed so often is left alone, for it comes back each time; undefined: no limit. */
  maxReplays: number | undefined;
  /** Who replays, for the message and the mark. */
  by: string;
}

/** A dead letter and its original message. */
export interface PlannedReplay {
  deadLetter: DeadLetter;
  original: OutboundRecord;
}

export interface ImpossibleReplay {
  deadLetter: DeadLetter;
  why: string;
}

export interface ReplayPlan {
  /** In the order of the dead letters. */
  replays: PlannedReplay[];
  /** How many are skipped because they have been replayed. */
  replayedBefore: number;
  impossible: ImpossibleReplay[];
}

/** What to replay of these dead letters of one topic. */
export function planReplay(deadLetters: readonly DeadLetter[], request: ReplayRequest): ReplayPlan {
  const { selection, again, by } = request;
  const plan: ReplayPlan = { replays: [], replayedBefore: 0, impossible: [] };
  for (const deadLetter of deadLetters) {
    if (!isSelected(deadLetter, selection)) continue;
    const why = obstacle(deadLetter, request);
    if (deadLetter.replayedAt !== undefined && !again) plan.replayedBefore += 1;
    else if (why !== undefined) plan.impossible.push({ deadLetter, why });
    else plan.replays.push({ deadLetter, original: originalOf(deadLetter, by) });
  }
  return plan;
}

/** Why a dead letter cannot be replayed; undefined when it can. */
function obstacle(
  { record, fields }: DeadLetter,
  { inputTopics, maxReplays = Infinity }: ReplayRequest,
): string | undefined {
  const { sourceTopic, sourcePartition, sourceOffset, valueOmittedBytes } = fields;
  if (sourceTopic === undefined) return 'it does not say where it came from';
  if (!inputTopics.has(sourceTopic)) return `there is no input topic ${sourceTopic}`;
  if (valueOmittedBytes !== undefined) {
    return (
      `its value of ${valueOmittedBytes} bytes was too large to be kept; the message was at ` +
      `offset ${sourceOffset ?? '?'} of partition ${sourcePartition ?? '?'} of ${sourceTopic}`
    );
  }
  const count = replayCount(record.headers);
  if (count < maxReplays) return undefined;
  return `it has come back from ${count} replays: mend the cause, then replay it with --force`;
}

/** How often a message has been replayed, by its header. */
function replayCount(headers: MessageHeaders): number {
  const text = headerText(headers, REPLAY_HEADERS.count) ?? '';
  return /^\d{1,9}$/.test(text) ? Number(text) : 0;
}

const REPLAY_HEADER_NAMES = new Set<string>(Object.values(REPLAY_HEADERS));

/** The original message: key, value, headers without those of the dead letter, time, and by whom it is replayed. */
function originalOf({ record, fields }: DeadLetter, by: string): OutboundRecord {
  const { sourceTopic: topic = '', sourceTimestamp = 0 } = fields;
  const { key, value } = record;
  const replay: MessageHeader[] = [
    [REPLAY_HEADERS.count, Buffer.from(String(replayCount(record.headers) + 1))],
    [REPLAY_HEADERS.by, Buffer.from(by)],
  ];
  const own = originalHeaders(record.headers).filter(([name]) => !REPLAY_HEADER_NAMES.has(name));
  // a message that came without a trace goes on in that of its rejection
  const rejectedIn = headerText(record.headers, DEAD_LETTER_HEADERS.traceparent);
  if (rejectedIn !== null && headerText(own, 'traceparent') === null) {
    replay.push(['traceparent', Buffer.from(rejectedIn)]);
  }
  const original = { topic, key, value, headers: [...own, ...replay] };
  // A message dated by its record alone must not count as newer than what has come since. No record has time 0.
  return sourceTimestamp === 0 ? original : { ...original, timestamp: String(sourceTimestamp) };
}

/** Puts messages back and marks their dead letters. */
export class Replayer {
  constructor(
    private readonly producer: Pick<IdempotentProducer, 'sendAll'>,
    private readonly marksTopic: string,
    private readonly nowSeconds: () => number,
    private readonly by: string,
  ) {}

  /**
   * Resolves once Kafka has acknowledged the messages and then their marks. After a crash in between, a message is put
   * back once more.
   *
   * @returns the dead letters whose messages Kafka refuses for good
   * @throws when the producer is closed before
   */
  async replay(replays: readonly PlannedReplay[]): Promise<ImpossibleReplay[]> {
    const refused = await this.producer.sendAll(replays.map(({ original }) => original));
    const accepted = replays.filter(({ original }) => !refused.has(original));
    await this.producer.sendAll(accepted.map((one) => this.markOf(one)));
    return replays.flatMap(({ deadLetter, original }) => {
      const refusal = refused.get(original);
      return refusal === undefined ? [] : [{ deadLetter, why: refusal.message }];
    });
  }

  /** Deletes marks whose dead letters no longer exist. */
  async deleteMarks(keys: readonly string[]): Promise<void> {
    await this.producer.sendAll(keys.map((key) => markTombstone(this.marksTopic, key)));
  }

  private markOf({ deadLetter, original }: PlannedReplay): OutboundRecord {
    const replay = {
      toTopic: original.topic,
      replayedAt: this.nowSeconds(),
      replayedBy: this.by,
    };
    return replayMark(this.marksTopic, deadLetter.record, replay);
  }
}
