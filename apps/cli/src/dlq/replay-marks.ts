import type { OutboundRecord, StoredRecord, TopicSpan } from '#libs/kafka';

interface ReplayMark {
  /** Epoch seconds. */
  replayedAt: number;
  toTopic: string;
  /** Absent from marks of earlier versions. */
  replayedBy?: string;
  /** Timestamp of the dead letter's record, in milliseconds. */
  letterTimestamp: string;
}

export function replayMark(
  marksTopic: string,
  deadLetter: StoredRecord,
  replay: { toTopic: string; replayedAt: number; replayedBy: string },
): OutboundRecord {
  const mark: ReplayMark = { ...replay, letterTimestamp: deadLetter.timestamp };
  const value = JSON.stringify(mark);
  return { topic: marksTopic, key: markKey(deadLetter), value, headers: {} };
}

export function markTombstone(marksTopic: string, key: string): OutboundRecord {
  return { topic: marksTopic, key, value: null, headers: {} };
}

export class ReplayMarks {
  private readonly marks = new Map<string, ReplayMark>();

  /** Applies records in the order of the log: the last one of a key counts. */
  applyMarks(records: readonly StoredRecord[]): void {
    for (const { key, value } of records) {
      const mark = value === null ? undefined : parseMark(value);
      if (mark === undefined) this.marks.delete(String(key));
      else this.marks.set(String(key), mark);
    }
  }

  /** Epoch seconds; undefined unless the dead letter has been replayed. */
  replayedAt(deadLetter: StoredRecord): number | undefined {
    const mark = this.marks.get(markKey(deadLetter));
    // a topic that was deleted and created again has other records at the same offsets
    return mark?.letterTimestamp === deadLetter.timestamp ? mark.replayedAt : undefined;
  }

  /** Keys of marks whose dead letters have been deleted from the topic. `spans` covers the whole topic. */
  outlivedKeys(spans: readonly TopicSpan[]): string[] {
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

/** Undefined for an unreadable value: only this command writes the topic. */
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
