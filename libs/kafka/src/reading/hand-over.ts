import { type Ending } from './ending.js';
import { type ReadOptions } from './read-options.js';
import { type StoredRecord } from './stored-record.js';

/** Gives records to whoever reads them; ends the read with what they throw, or when its signal has aborted. */
export class HandOver {
  private underWay = false;

  constructor(
    private readonly options: Pick<ReadOptions, 'onRecords' | 'signal'>,
    private readonly ending: Ending,
  ) {}

  /** Whether records are being handled now, for which an end has to wait and which may take long. */
  get isUnderWay(): boolean {
    return this.underWay;
  }

  /** Returns whether the read goes on. An error must not reach kafkajs, which would try again. */
  async give(records: readonly StoredRecord[]): Promise<boolean> {
    const { signal, onRecords } = this.options;
    this.underWay = true;
    try {
      await onRecords(records);
      if (signal.aborted) this.ending.end();
    } catch (error) {
      this.ending.end(error as Error);
    }
    this.underWay = false;
    return !this.ending.isOver;
  }
}
