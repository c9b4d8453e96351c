import { Logger } from '@nestjs/common';
import { type OwnedState, type PartitionOwnership } from '#libs/messaging';
import { warnOfTimesAhead } from '../times-ahead.js';
import { type PartitionHolder } from '../owned-partitions.js';

interface Write {
  ownership: PartitionOwnership;
  machineId: string;
  issuedAt: number;
  resolve: () => void;
  reject: (error: Error) => void;
}

/**
 * The fences of one partition. Writes that come while one is under way share the next. A write that
 * fails waits for the partition to be restored and is made again; what was known stays known meanwhile,
 * for no list may pass because a fence cannot be written. It ends without having been made only when its
 * message's partition is lost. A fence is never lowered, but where it is a time that cannot be: that is ignored.
 */
export class PartitionFences implements PartitionHolder<number> {
  private readonly logger = new Logger('ListFences');
  private readonly pending: Write[] = [];
  /** What has been raised here and may not be written yet. */
  private readonly raised = new Map<string, number>();
  /** Read also after it can no longer be written, until the partition is restored. */
  private state: OwnedState<number> | undefined;
  private isWritable = false;
  private isWriting = false;

  /** @param isAhead whether no list can have been issued at that time yet */
  constructor(private readonly isAhead: (issuedAt: number) => boolean) {}

  get isIdle(): boolean {
    return this.pending.length === 0 && !this.isWriting;
  }

  own(state: OwnedState<number>): void {
    this.state = state;
    this.isWritable = true;
    const ahead = [...state.entries()].filter(([, issuedAt]) => this.isAhead(issuedAt));
    if (ahead.length > 0) {
      const machineIds = ahead.map(([machineId]) => machineId);
      warnOfTimesAhead(this.logger, state.partition, 'machineIds', machineIds);
    }
    void this.write();
  }

  issuedAt(machineId: string): number | undefined {
    const stored = this.state && this.stored(this.state, machineId);
    const raised = this.raised.get(machineId);
    return stored === undefined || (raised !== undefined && raised > stored) ? raised : stored;
  }

  raise(ownership: PartitionOwnership, machineId: string, issuedAt: number): Promise<void> {
    this.raised.set(machineId, Math.max(issuedAt, this.issuedAt(machineId) ?? issuedAt));
    ownership.whenLost(this.rejectLost);
    return new Promise((resolve, reject) => {
      this.pending.push({ ownership, machineId, issuedAt, resolve, reject });
      this.rejectLost();
      void this.write();
    });
  }

  private stored(state: OwnedState<number>, machineId: string): number | undefined {
    const issuedAt = state.get(machineId);
    return issuedAt === undefined || this.isAhead(issuedAt) ? undefined : issuedAt;
  }

  private async write(): Promise<void> {
    if (this.isWriting) return;
    this.isWriting = true;
    while (this.pending.length > 0 && this.state !== undefined && this.isWritable) {
      await this.commit(this.state, this.pending.splice(0));
    }
    this.isWriting = false;
  }

  private async commit(state: OwnedState<number>, writes: readonly Write[]): Promise<void> {
    try {
      await state.commit(this.higherThan(state, writes), []);
      for (const { machineId } of writes) this.forgetRaised(state, machineId);
      for (const { resolve } of writes) resolve();
    } catch {
      // Kafka alone knows what became of it; the partition is restored anew, and then it is written again.
      if (this.state === state) this.isWritable = false;
      this.pending.unshift(...writes);
      this.rejectLost();
    }
  }

  /** The highest write of each machine, where it is above what is stored. */
  private higherThan(
    state: OwnedState<number>,
    writes: readonly Write[],
  ): (readonly [string, number])[] {
    const highest = new Map<string, number>();
    for (const { machineId, issuedAt } of writes) {
      highest.set(machineId, Math.max(issuedAt, highest.get(machineId) ?? issuedAt));
    }
    return [...highest].filter(([machineId, issuedAt]) => {
      return issuedAt > (this.stored(state, machineId) ?? -Infinity);
    });
  }

  private forgetRaised(state: OwnedState<number>, machineId: string): void {
    const raised = this.raised.get(machineId);
    if (raised !== undefined && raised <= (this.stored(state, machineId) ?? -Infinity)) {
      this.raised.delete(machineId);
    }
  }

  /** At a stop the partition can still be written; once it cannot, nobody will own it here again for these messages. */
  private readonly rejectLost = (): void => {
    if (this.isWritable) return;
    const { pending } = this;
    for (const write of pending.splice(0)) {
      if (write.ownership.isLost) {
        this.raised.delete(write.machineId);
        write.reject(write.ownership.signal.reason as Error);
      } else pending.push(write);
    }
    for (const { machineId, issuedAt } of pending) {
      this.raised.set(machineId, Math.max(issuedAt, this.raised.get(machineId) ?? issuedAt));
    }
  };
}
