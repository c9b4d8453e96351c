import { afterRealMs } from '#libs/clock';
import { type OutboundRecord } from '#libs/messaging';

export interface FinishedRecord {
  /** Full name, prefix included. */
  topic: string;
  key: Buffer;
}

/** How long they may wait for other records of their partition to be written with. */
const PATIENCE_MS = 500;
/** As many tombstones as go into a transaction. */
const MAX_TOMBSTONES = 1000;

/**
 * The records of one partition of queues that are final and still in their topic: a tombstone for each lets
 * Kafka remove it. What a crash or a hand-over leaves of them without one lies there for good, and is read by
 * nobody.
 */
export class FinishedRecords {
  private readonly records: FinishedRecord[] = [];
  private isTimed = false;
  private lost: AbortSignal | undefined;

  constructor(
    /** Writes {@link tombstones} although nothing else is to be written. */
    private readonly flush: () => void,
  ) {}

  /** @param lost aborts when another process may write the partition */
  ownedUntil(lost: AbortSignal): void {
    this.lost = lost;
  }

  add(record: FinishedRecord): void {
    this.records.push(record);
    this.time();
  }

  /** The next to be written, until {@link drop} is told that they are. */
  tombstones(partition: number): OutboundRecord[] {
    return this.records.slice(0, MAX_TOMBSTONES).map(({ topic, key }) => {
      return { topic, partition, key, value: null, headers: {} };
    });
  }

  drop(count: number): void {
    this.records.splice(0, count);
  }

  private time(): void {
    if (this.isTimed) return;
    this.isTimed = true;
    afterRealMs(PATIENCE_MS, () => {
      this.isTimed = false;
      if (this.lost?.aborted !== false) this.records.length = 0;
      if (this.records.length === 0) return;
      this.flush();
      this.time();
    });
  }
}
