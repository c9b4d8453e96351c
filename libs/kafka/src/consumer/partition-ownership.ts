import { setMaxListeners } from 'node:events';

/** That this process owns a partition, from its assignment until it is revoked or the process stops. */
export class PartitionOwnership {
  private readonly controller = new AbortController();
  private readonly listeners = new Set<() => void>();
  private lost = false;

  constructor() {
    // As many messages as wait for something listen to it; that is no leak.
    setMaxListeners(0, this.controller.signal);
  }

  /** Once true no further call may begin for the partition's messages: they are delivered again to their new owner. */
  get isLost(): boolean {
    return this.lost;
  }

  /** Aborts when the partition is lost; for whoever waits for something on behalf of a message. */
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
