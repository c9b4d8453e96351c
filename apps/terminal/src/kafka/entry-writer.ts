import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Clock, withDeadline } from '#libs/clock';
import type { TerminalSettings } from '#libs/config';
import { headerText, rfc3339, TOPICS } from '#libs/contracts';
import { ApiError } from '#libs/http-api';
import {
  IdempotentProducer,
  type KafkaClient,
  latestSpans,
  readSpans,
  RecordRefusedError,
} from '#libs/kafka';
import type { Entry, NewEntry, NewNote } from '../api/index.js';
import { Plant, sourceOf, STATION_SOURCE } from '../plant/index.js';
import { KAFKA, TERMINAL_SETTINGS } from '../platform/tokens.js';
import { PlantFeed, RETRY_AFTER_SECONDS } from './plant-feed.js';

/** Who entered a record, and when. */
export interface Sender {
  station: string;
  operator: string | null;
  /** Epoch seconds of the plant. */
  madeAt: number;
}

type Place = Entry['source'];

interface PendingWrite {
  /** As sent first. */
  content: string;
  place: Promise<Place>;
}

/** One read of the topics before the plant's window, shared by the requests that wait for it. */
interface LookUp {
  /** By id: the start of the entry, before which it was not written. */
  startTimes: Map<string, number>;
  places: Promise<ReadonlyMap<string, Place>>;
}

export const ID_REUSED = 'another one was sent under this id';
/** A page waits longer, and repeats the request. */
const ANSWER_WITHIN_MS = 5000;
/** Records that wait for Kafka; operators send fewer in a minute. */
const MAX_WAITING = 2000;
const LOOK_UP_WITHIN_MS = 10_000;
const MAX_LOOKED_UP = 200_000;
const TOPIC_OF = { reasons: TOPICS.downtimeReasons, notes: TOPICS.downtimeNotes };
export type Kind = keyof typeof TOPIC_OF;

/**
 * Writes reasons and notes, each once. The ids that were written are known from reading the topics, also after a
 * restart; the writer itself remembers a record until it has been read back. A write that Kafka does not answer in time
 * continues: a repeated request waits for the same write.
 */
@Injectable()
export class EntryWriter implements OnApplicationShutdown {
  /** Records that Kafka has stored since the start; reasons include follow-ups. */
  readonly written = { reasons: 0, notes: 0, followUps: 0 };
  /** One for each topic: reasons must not wait behind notes that Kafka does not accept. */
  private readonly producers: Record<Kind, IdempotentProducer>;
  private readonly pendingWrites = new Map<string, PendingWrite>();
  private lookingUp: Promise<unknown> = Promise.resolve();
  /** Begins when the present one ends. */
  private nextLookUp: LookUp | undefined;
  private readonly prefix: string;

  constructor(
    @Inject(TERMINAL_SETTINGS) private readonly settings: TerminalSettings,
    @Inject(KAFKA) private readonly kafka: KafkaClient,
    private readonly clock: Clock,
    private readonly plant: Plant,
    private readonly feed: PlantFeed,
  ) {
    this.producers = {
      reasons: new IdempotentProducer(kafka),
      notes: new IdempotentProducer(kafka),
    };
    this.prefix = settings.kafka.topicPrefix;
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(Object.values(this.producers).map((producer) => producer.closeProducer()));
  }

  /** @throws ApiError 503 while records of that kind cannot be written */
  assertWritable(kind: Kind = 'reasons'): void {
    this.feed.assertRestored();
    if (this.feed.link.state === 'down') throw unavailable('kafka-away', 'Kafka does not answer');
    if (this.producers[kind].unacknowledged >= MAX_WAITING) {
      throw unavailable('busy', 'Kafka takes less than is sent');
    }
  }

  /** Whether the reason has been written, or is being written. */
  isEntryKnown(entryId: string): boolean {
    return this.plant.entry(entryId) !== undefined || this.pendingWrites.has(entryId);
  }

  /** The place of this reason; `reused` if its id is that of another reason; undefined for a new one. */
  async findEntry(entry: NewEntry): Promise<Place | 'reused' | undefined> {
    return (
      (await this.findRemembered(entry)) ??
      (await this.lookUpPlace(entry.entryId, entry.startTime)) ??
      // another request may have written it, and its record been read, during the look-up
      this.findRemembered(entry)
    );
  }

  private findRemembered(entry: NewEntry): Promise<Place> | Place | 'reused' | undefined {
    const known = this.plant.entry(entry.entryId);
    if (known !== undefined) {
      // an open-ended one may have been written with its end
      const asSent = entry.endTime === null ? { ...known, endTime: null } : known;
      return contentOf(asSent) === contentOf(entry) ? known.source : 'reused';
    }
    const underWay = this.pendingWrites.get(entry.entryId);
    if (underWay === undefined) return undefined;
    return underWay.content === contentOf(entry) ? inTime(underWay.place) : 'reused';
  }

  /**
   * Writes a reason that {@link findEntry} does not know.
   *
   * @param endTime written as its end
   * @throws ApiError 503 when Kafka does not answer in time
   */
  async writeEntry(entry: NewEntry, sender: Sender, endTime = entry.endTime): Promise<Place> {
    const { entryId, machineId, reasonId, startTime } = entry;
    const value = { machineId, reasonId, startTime, ...(endTime !== null && { endTime }) };
    return this.writeRecord('reasons', entryId, contentOf(entry), value, sender);
  }

  async writeNote(note: NewNote, sender: Sender): Promise<Place> {
    const { noteId, machineId, startTime, endTime, text } = note;
    const known =
      this.plant.notePlace(noteId) ??
      (await this.lookUpPlace(noteId, startTime)) ??
      this.plant.notePlace(noteId);
    if (known !== undefined) return known;
    const { station, operator, madeAt: at } = sender;
    const value = { machineId, startTime, endTime, text, operator: operator ?? '', station, at };
    const content = JSON.stringify([machineId, startTime, endTime, text]);
    return this.writeRecord('notes', noteId, content, value, sender);
  }

  /** Forgets records that have been read back. */
  forgetReadBack(): void {
    for (const id of this.pendingWrites.keys()) {
      const isRead = this.plant.entry(id) !== undefined || this.plant.notePlace(id) !== undefined;
      if (isRead) this.pendingWrites.delete(id);
    }
  }

  private writeRecord(
    kind: Kind,
    id: string,
    content: string,
    value: { machineId: string },
    { station, operator, madeAt }: Sender,
  ): Promise<Place> {
    const before = this.pendingWrites.get(id);
    if (before?.content === content) return inTime(before.place);
    if (before !== undefined) throw new ApiError(422, 'entry-id-reused', ID_REUSED);
    const sent = this.producers[kind].sendRecord({
      topic: this.prefix + TOPIC_OF[kind],
      key: value.machineId,
      value: JSON.stringify(value),
      headers: {
        'message-id': id,
        ce_source: STATION_SOURCE + encodeURIComponent(station),
        ce_time: rfc3339(madeAt),
        'content-type': 'application/json',
        ...(operator !== null && { operator }),
      },
    });
    const place = sent.then((written) => {
      this.written[kind] += 1;
      return sourceOf(written);
    });
    this.pendingWrites.set(id, { content, place });
    place.catch(() => this.pendingWrites.delete(id));
    return inTime(place);
  }

  /**
   * Searches the topics for a record from before the plant's window: the answer to an earlier request may have been
   * lost, and its page offline since. One read runs at a time, and the requests that arrive meanwhile share the next: a
   * tablet that was off for days sends a hundred entries at once.
   */
  private async lookUpPlace(id: string, startTime: number): Promise<Place | undefined> {
    const rememberedFrom = this.plant.window(this.clock.nowSeconds()).startTime;
    if (startTime >= rememberedFrom || this.clock.speed !== 1) return undefined;
    this.nextLookUp ??= this.beginLookUp();
    const { startTimes, places } = this.nextLookUp;
    startTimes.set(id, startTime);
    try {
      return (await inTime(places, LOOK_UP_WITHIN_MS)).get(id);
    } catch {
      throw unavailable('kafka-away', 'Kafka does not answer');
    }
  }

  private beginLookUp(): LookUp {
    const startTimes: LookUp['startTimes'] = new Map();
    const places = this.lookingUp.then(() => {
      this.nextLookUp = undefined;
      return this.readPlaces(startTimes);
    });
    this.lookingUp = places.catch(() => undefined);
    return { startTimes, places };
  }

  private async readPlaces(wanted: LookUp['startTimes']): Promise<ReadonlyMap<string, Place>> {
    const found = new Map<string, Place>();
    const done = new AbortController();
    const late = AbortSignal.timeout(LOOK_UP_WITHIN_MS);
    const topics = Object.values(TOPIC_OF).map((name) => this.prefix + name);
    const latest = {
      sinceMs: Math.min(...wanted.values()) * 1000,
      maxPerPartition: MAX_LOOKED_UP,
    };
    const spans = await Promise.all(topics.map((topic) => latestSpans(this.kafka, topic, latest)));
    await readSpans(this.kafka, spans.flat(), {
      signal: AbortSignal.any([done.signal, late]),
      onRecords: (records) => {
        for (const record of records) {
          const id = headerText(record.headers, 'message-id') ?? '';
          if (wanted.has(id)) found.set(id, sourceOf(record));
        }
        if (found.size === wanted.size) done.abort();
      },
    });
    // a read that was cut short does not show that an id is absent
    if (!done.signal.aborted) late.throwIfAborted();
    return found;
  }
}

function contentOf({ machineId, reasonId, startTime, endTime }: Omit<NewEntry, 'entryId'>): string {
  return JSON.stringify([machineId, reasonId, startTime, endTime]);
}

async function inTime<T>(work: Promise<T>, withinMs = ANSWER_WITHIN_MS): Promise<T> {
  if (!(await withDeadline(work, withinMs))) {
    throw unavailable('kafka-away', 'Kafka has not answered in time');
  }
  try {
    return await work;
  } catch (error) {
    if (error instanceof RecordRefusedError) throw new ApiError(413, 'too-large', error.message);
    throw unavailable('stopping', 'the terminal is stopping');
  }
}

function unavailable(code: string, message: string): ApiError {
  return new ApiError(503, code, message, RETRY_AFTER_SECONDS);
}
