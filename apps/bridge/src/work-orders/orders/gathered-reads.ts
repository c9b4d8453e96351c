import { abortable, realDelayMs, whenAllAbort } from '#libs/clock';
import { backOffMs } from '#libs/delivery';
import { type RecordPlace, type StoredRecord } from '#libs/kafka';

/** Short beside a read, long beside what one answer of the service tells of many machines. */
const GATHER_MS = 50;
/** Read at once: so many messages are in memory together. */
const MAX_PLACES = 100;
const BACK_OFF = { baseMs: 200, capMs: 5000 };

/** Reads records where they lie, undefined for those that are lost; rejects when Kafka does not answer. */
export type ReadAll = (
  places: readonly RecordPlace[],
  signal: AbortSignal,
) => Promise<readonly (StoredRecord | undefined)[]>;

/** Who waits for the record at a place. */
interface Wanted {
  place: RecordPlace;
  waiters: { signal: AbortSignal; resolve: (record: StoredRecord | undefined) => void }[];
}

/**
 * Records that are asked for one by one and read together, each once: a read takes a second or more,
 * whatever it is for. Reads follow one another, and each goes on until Kafka answers or nobody waits.
 */
export class GatheredReads {
  private readonly wanted = new Map<string, Wanted>();
  private isReading = false;

  constructor(private readonly readAll: ReadAll) {}

  /**
   * Undefined when the record is lost.
   *
   * @throws the signal's reason when it aborts before
   */
  read(place: RecordPlace, signal: AbortSignal): Promise<StoredRecord | undefined> {
    const record = new Promise<StoredRecord | undefined>((resolve) => {
      const key = `${place.topic}/${place.partition}/${place.offset}`;
      const wanted = this.wanted.get(key) ?? { place, waiters: [] };
      wanted.waiters.push({ signal, resolve });
      this.wanted.set(key, wanted);
    });
    void this.readWanted();
    return abortable(record, signal);
  }

  private async readWanted(): Promise<void> {
    if (this.isReading) return;
    this.isReading = true;
    await realDelayMs(GATHER_MS);
    while (this.wanted.size > 0) await this.readUntilAnswered(this.nextBatch());
    this.isReading = false;
  }

  private nextBatch(): Wanted[] {
    const batch = [...this.wanted].slice(0, MAX_PLACES);
    for (const [key] of batch) this.wanted.delete(key);
    return batch.map(([, wanted]) => wanted);
  }

  private async readUntilAnswered(batch: readonly Wanted[]): Promise<void> {
    const waiters = batch.flatMap((wanted) => wanted.waiters);
    const { signal, release } = whenAllAbort(new Set(waiters.map((waiter) => waiter.signal)));
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        const records = await this.readAll(
          batch.map(({ place }) => place),
          signal,
        );
        batch.forEach(({ waiters: those }, index) => {
          for (const { resolve } of those) resolve(records[index]);
        });
        break;
      } catch {
        await realDelayMs(backOffMs(attempt, BACK_OFF), signal).catch(() => undefined);
      }
    }
    release();
  }
}
