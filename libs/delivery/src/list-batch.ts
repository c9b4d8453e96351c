/** A list that waits to be set, and all that is owed an answer once it is. */
export interface QueuedList<T> {
  readonly machineId: string;
  /** Size of the list in a request, in bytes. */
  readonly bytes: number;
  /** Calls it has been part of. */
  attempts: number;
  readonly payload: T;
}

export interface BatchLimits {
  maxMachines: number;
  maxBytes: number;
}

/** The lists of one request while they are being put together. */
export class ListBatch<T> {
  readonly lists: QueuedList<T>[] = [];
  private company: number;
  private bytes = 0;

  constructor(private readonly limits: BatchLimits) {
    this.company = limits.maxMachines;
  }

  /** Takes the list in, unless the batch is full or would be too large a company for its machine. */
  admit(list: QueuedList<T>, suspicion: number): 'admitted' | 'not with these' | 'full' {
    if (this.lists.length >= this.company) return 'full';
    const allowed = Math.max(1, this.limits.maxMachines >> suspicion);
    if (this.lists.length >= allowed) return 'not with these';
    const isFirst = this.lists.length === 0;
    if (!isFirst && this.bytes + list.bytes > this.limits.maxBytes) return 'full';
    this.company = Math.min(this.company, allowed);
    this.bytes += list.bytes;
    this.lists.push(list);
    return 'admitted';
  }
}
