import { type OutboundRecord, type StoredRecord, type TopicSpan } from '#libs/kafka';

/** Internal, compacted: which dead letters have been replayed. Without the configured prefix. */
export const REPLAYS_TOPIC = 'machine-bridge.dead-letter-replays.v1';

interface ReplayMark {
  /** Epoch seconds. */
  replayedAt: number;
  toTopic: string;
  /** The letter's own timestamp, in milliseconds. */
  letterTimestamp: string;
}

/** Says of a letter that it was put back: a record for the topic of marks. */
export function replayMark(
  marksTopic: string,
  letter: StoredRecord,
  replay: { toTopic: string; replayedAt: number },
): OutboundRecord {
  const mark: ReplayMark = { ...replay, letterTimestamp: letter.timestamp };
  const value = JSON.stringify(mark);
  return { topic: marksTopic, key: markKey(letter), value, headers: {} };
}

/** Takes back what a mark said, once its letter is gone. */
export function withoutMark(marksTopic: string, key: string): OutboundRecord {
  return { topic: marksTopic, key, value: null, headers: {} };
}

/** The marks read so far. */
export class ReplayMarks {
  private readonly marks = new Map<string, ReplayMark>();

  /** Takes records in the order of the log: the last of a key counts. */
  accept(records: readonly StoredRecord[]): void {
    for (const { key, value } of records) {
      const mark = value === null ? undefined : parseMark(value);
      if (mark === undefined) this.marks.delete(String(key));
      else this.marks.set(String(key), mark);
    }
  }

  /** When a letter was replayed, in epoch seconds; undefined if it was not. */
  replayedAt(letter: StoredRecord): number | undefined {
    const mark = this.marks.get(markKey(letter));
    // After a topic has been deleted and made anew, another letter lies in the same place.
    return mark?.letterTimestamp === letter.timestamp ? mark.replayedAt : undefined;
  }

  /** The keys of marks whose letters have passed out of these spans of a whole topic. */
  outlived(spans: readonly TopicSpan[]): string[] {
    return [...this.marks.keys()].filter((key) =>
      spans.some((span) => {
        const place = `${span.topic}/${span.partition}/`;
        return key.startsWith(place) && Number(key.slice(place.length)) < span.from;
      }),
    );
  }
}

function markKey({ topic, partition, offset }: StoredRecord): string {
  return `${topic}/${partition}/${offset}`;
}

/** Nobody else writes this topic; what cannot be read says nothing. */
function parseMark(value: Buffer): ReplayMark | undefined {
  try {
    const mark = JSON.parse(value.toString()) as Partial<ReplayMark> | null;
    const { replayedAt, toTopic, letterTimestamp } = mark ?? {};
    if (typeof replayedAt !== 'number' || typeof letterTimestamp !== 'string') return undefined;
    return { replayedAt, toTopic: String(toTopic), letterTimestamp };
  } catch {
    return undefined;
  }
}
