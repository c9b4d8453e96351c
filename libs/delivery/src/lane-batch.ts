import { companyOf } from './suspicion.js';

/** Something to be done for one machine, in the order of its lane. */
export interface LaneEntry {
  readonly machineId: string;
  /** Size in a request, in bytes. */
  readonly bytes: number;
}

export interface BatchLimits {
  maxMachines: number;
  maxBytes: number;
}

/** The entries of one request while they are being put together. */
export class LaneBatch<T extends LaneEntry> {
  readonly entries: T[] = [];
  private company: number;
  private bytes = 0;

  constructor(private readonly limits: BatchLimits) {
    this.company = limits.maxMachines;
  }

  /** Takes the entry in, unless the batch is full or would be too large a company for its machine. */
  admit(entry: T, suspicion: number): 'admitted' | 'not with these' | 'full' {
    const count = this.entries.length;
    if (count >= this.company) return 'full';
    const allowed = companyOf(suspicion, this.limits.maxMachines);
    if (count >= allowed) return 'not with these';
    if (count > 0 && this.bytes + entry.bytes > this.limits.maxBytes) return 'full';
    this.company = Math.min(this.company, allowed);
    this.bytes += entry.bytes;
    this.entries.push(entry);
    return 'admitted';
  }
}
