import { type InboundRecord } from './inbound-message.js';

/** Records handed over are dropped by the thousand: one by one each would move all that wait. */
const FORGET_AT = 1000;

/** Records of one partition that have been fetched and not yet handed over, in their order. */
export class WaitingRecords {
  private readonly records: InboundRecord[] = [];
  private taken = 0;
  private end = 0;

  get size(): number {
    return this.records.length - this.taken;
  }

  private get first(): InboundRecord | undefined {
    return this.records[this.taken];
  }

  /** Behind all that has been fetched; 0 before the first fetch. */
  get fetchedEnd(): number {
    return this.end;
  }

  /** Before this, all that has been fetched has been taken as well; 0 before the first fetch. */
  get takenUpTo(): number {
    return this.first?.offset ?? this.end;
  }

  /** Returns whether it is new: after a rebalance that left the partition here, Kafka hands out again what is here. */
  add(record: InboundRecord): boolean {
    if (record.offset < this.end) return false;
    this.end = record.offset + 1;
    this.records.push(record);
    return true;
  }

  /** What has been fetched ends there, which may be behind the last record. */
  fetchedUpTo(end: number): void {
    this.end = Math.max(this.end, end);
  }

  take(): InboundRecord | undefined {
    const { first } = this;
    if (first === undefined) return undefined;
    this.taken += 1;
    if (this.taken >= FORGET_AT || this.size === 0) {
      this.records.splice(0, this.taken);
      this.taken = 0;
    }
    return first;
  }

  /** As if nothing had been fetched; only before the first is taken. */
  reset(): void {
    this.clear();
    this.end = 0;
  }

  clear(): void {
    this.end = this.takenUpTo;
    this.records.length = 0;
    this.taken = 0;
  }
}
