import { TOPICS, withoutFrame } from '#libs/contracts';
import {
  type InvalidEventError,
  invalidity,
  isPublishedTopic,
} from './events/expect-valid-event.js';
import type { PublishedRecord } from './events/published-record.js';
import { eventually } from './eventually.js';

/** A record as a subscriber of the bridge's topics gets it. */
export interface ReadRecord extends PublishedRecord {
  partition: number;
  offset: number;
  /** Epoch milliseconds in decimal digits; absent from records that a test makes up. */
  timestamp?: string;
}

/** All records read so far, and methods to wait for more. */
export class TopicReader {
  private readonly read: ReadRecord[] = [];
  private invalid: InvalidEventError | undefined;

  /** @throws InvalidEventError when one of them should not have been published */
  get records(): readonly ReadRecord[] {
    this.expectValid();
    return this.read;
  }

  /** Keeps an invalid record for the next caller: an error thrown here would only make the client read it again. */
  addRecord(record: ReadRecord): void {
    this.read.push(record);
    if (isPublishedTopic(record.topic)) this.invalid ??= invalidity(record);
  }

  /** @throws InvalidEventError */
  expectValid(): void {
    if (this.invalid !== undefined) throw this.invalid;
  }

  /** Waits for the first record that matches, and returns it. */
  find(what: string, matches: (record: ReadRecord) => boolean): Promise<ReadRecord> {
    return eventually(what, () => this.records.find(matches));
  }

  /** The first record read about a machine. */
  firstAbout(machineId: string): Promise<ReadRecord> {
    return this.find(
      `an outcome for ${machineId}`,
      (record) => header(record, 'ce_subject') === machineId,
    );
  }

  /** Waits for an outcome of a message, of the given type if any. */
  outcomeOf(messageId: string, type?: string): Promise<ReadRecord> {
    return this.find(
      `an outcome ${type ?? ''} of ${messageId}`,
      (record) =>
        isOutcomeOf(record, messageId) &&
        (type === undefined || header(record, 'ce_type') === type),
    );
  }

  /** Waits for at least `count` records that match. */
  async findAtLeast(
    count: number,
    what: string,
    matches: (record: ReadRecord) => boolean,
  ): Promise<ReadRecord[]> {
    await eventually(`${count} × ${what}`, () => this.records.filter(matches).length >= count);
    return this.records.filter(matches);
  }
}

/** The places of records by their ids, as in answers of the apps. */
export function placesOf(
  records: readonly ReadRecord[],
  topicPrefix: string,
  idOf: (record: ReadRecord) => string,
): Map<string, string[]> {
  const places = new Map<string, string[]>();
  for (const record of records) {
    const id = idOf(record);
    const place = `${topicPrefix}${record.topic} ${record.partition} ${record.offset}`;
    places.set(id, [...(places.get(id) ?? []), place]);
  }
  return places;
}

export function isOutcomeOf(record: ReadRecord, messageId: string): boolean {
  return record.topic === TOPICS.commandOutcomes && messageIdOf(record) === messageId;
}

export function messageIdOf(outcome: ReadRecord): string {
  return (json(outcome)['source'] as { messageId: string }).messageId;
}

export function header(record: ReadRecord, name: string): string | undefined {
  return record.headers[name]?.toString();
}

export function json(record: ReadRecord): Record<string, unknown> {
  const value = record.value && withoutFrame(record.value);
  return JSON.parse(value?.toString() ?? 'null') as Record<string, unknown>;
}
