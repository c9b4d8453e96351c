import { setMaxListeners } from 'node:events';

/** The ownership of a partition, from its assignment until it is revoked or the process stops. */
export class PartitionOwnership {
  private readonly controller = new AbortController();
  private readonly listeners = new Set<() => void>();
  private lost = false;

  constructor() {
    // Each message that waits for something listens to it; that is no leak.
    setMaxListeners(0, this.controller.signal);
  }

  /** Once true, no call may begin for the partition's messages: they are delivered again to the new owner. */
  get isLost(): boolean {
    return this.lost;
  }

  /** Aborts when the partition is lost; for waits on behalf of a message. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Calls the listener once when the partition is lost; a listener is known by its identity and added once. */
  whenLost(listener: () => void): void {
    this.listeners.add(listener);
  }

  lose(reason: Error): void {
    if (this.lost) return;
    this.lost = true;
    this.controller.abort(reason);
    for (const listener of this.listeners) listener();
  }
}
