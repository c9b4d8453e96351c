/** Something to be done for one machine, in the order of its lane. */
export interface LaneEntry {
  readonly machineId: string;
  /** Size in a request, in bytes; asked for as it is put together. */
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

  constructor(
    private readonly limits: BatchLimits,
    share = limits.maxMachines,
  ) {
    this.company = Math.min(limits.maxMachines, share);
  }

  /**
   * Takes the entry in, unless the batch is full or would be too large a company for its machine.
   *
   * @param allowed machines that may share a batch with this one, itself included
   */
  admit(entry: T, allowed: number): 'admitted' | 'not with these' | 'full' {
    const count = this.entries.length;
    if (count >= this.company) return 'full';
    if (count >= allowed) return 'not with these';
    const bytes = this.bytes + entry.bytes;
    if (count > 0 && bytes > this.limits.maxBytes) return 'full';
    this.company = Math.min(this.company, allowed);
    this.bytes = bytes;
    this.entries.push(entry);
    return 'admitted';
  }
}
