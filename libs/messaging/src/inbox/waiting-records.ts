import { type InboundRecord } from './inbound-message.js';

/** Records handed over are dropped by the thousand: one by one each would move all that wait. */
const FORGET_AT = 1000;

/** Records of one partition that have been fetched and not yet handed over, in their order. */
export class WaitingRecords {
  private readonly records: InboundRecord[] = [];
  private taken = 0;

  get size(): number {
    return this.records.length - this.taken;
  }

  /** The next to be taken. */
  get first(): InboundRecord | undefined {
    return this.records[this.taken];
  }

  add(record: InboundRecord): void {
    this.records.push(record);
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

  clear(): void {
    this.records.length = 0;
    this.taken = 0;
  }
}
