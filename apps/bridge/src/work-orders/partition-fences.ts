import { type OwnedState, type PartitionOwnership } from '#libs/messaging';

interface Write {
  ownership: PartitionOwnership;
  machineId: string;
  issuedAt: number;
  resolve: () => void;
  reject: (error: Error) => void;
}

/**
 * The fences of one partition. Writes that come while one is under way share the next. A write that
 * fails waits for the partition to be restored and is made again; it ends without having been made only
 * when its message's partition is lost. An earlier owner that wakes up late is fenced by its transactions.
 */
export class PartitionFences {
  private readonly pending: Write[] = [];
  /** What has been raised here and may not be written yet. */
  private readonly raised = new Map<string, number>();
  private state: OwnedState<number> | undefined;
  private isWriting = false;

  own(state: OwnedState<number>): void {
    this.state = state;
    // Another process may have raised them meanwhile: what is restored is all there is, but for what waits.
    this.raised.clear();
    for (const { machineId, issuedAt } of this.pending) this.raised.set(machineId, issuedAt);
    void this.write();
  }

  issuedAt(machineId: string): number | undefined {
    return this.raised.get(machineId) ?? this.state?.get(machineId);
  }

  raise(ownership: PartitionOwnership, machineId: string, issuedAt: number): Promise<void> {
    this.raised.set(machineId, issuedAt);
    ownership.whenLost(this.rejectLost);
    return new Promise((resolve, reject) => {
      this.pending.push({ ownership, machineId, issuedAt, resolve, reject });
      this.rejectLost();
      void this.write();
    });
  }

  private async write(): Promise<void> {
    if (this.isWriting) return;
    this.isWriting = true;
    while (this.pending.length > 0 && this.state !== undefined) {
      await this.commit(this.state, this.pending.splice(0));
    }
    this.isWriting = false;
  }

  private async commit(state: OwnedState<number>, writes: readonly Write[]): Promise<void> {
    const newest = new Map(writes.map(({ machineId, issuedAt }) => [machineId, issuedAt]));
    try {
      await state.commit([...newest], []);
      for (const { machineId, issuedAt } of writes) {
        if (this.raised.get(machineId) === issuedAt) this.raised.delete(machineId);
      }
      for (const { resolve } of writes) resolve();
    } catch {
      // Kafka alone knows what became of it; the partition is restored anew, and then it is written again.
      if (this.state === state) this.state = undefined;
      this.pending.unshift(...writes);
      this.rejectLost();
    }
  }

  /** At a stop the partition can still be written; once it cannot, nobody will own it here again for these messages. */
  private readonly rejectLost = (): void => {
    if (this.state !== undefined) return;
    const { pending } = this;
    for (const write of pending.splice(0)) {
      if (write.ownership.isLost) write.reject(write.ownership.signal.reason as Error);
      else pending.push(write);
    }
  };
}
