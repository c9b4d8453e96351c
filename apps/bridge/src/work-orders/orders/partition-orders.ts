import { type OwnedState, type StateChange } from '#libs/messaging';
import { type Derivation } from '../partition-writer.js';
import { DerivedEntries, type OrderEffects } from './derived-entries.js';
import { FinishedOrders } from './finished-orders.js';
import { Gatherings } from './gatherings.js';
import { isAhead, isFinished, type KnownOrder } from './known-order.js';
import { type OrderEntry } from './order-entries.js';

/** The orders of one partition: what messages make of them, and which of the finished ones to forget. */
export class PartitionOrders {
  private finished = new FinishedOrders();
  private readonly gatherings = new Gatherings();

  constructor(private readonly effects: OrderEffects) {}

  /** Returns the orders that are dated by a time that cannot be. */
  restored(state: OwnedState<KnownOrder>): string[] {
    const latestSeconds = this.effects.latestSeconds();
    const ahead: string[] = [];
    const finished: [orderId: string, changedAt: number][] = [];
    for (const [orderId, order] of state.entries()) {
      if (isFinished(order)) finished.push([orderId, order.changedAt]);
      if (isAhead(order, latestSeconds)) ahead.push(orderId);
    }
    finished.sort(([, a], [, b]) => a - b);
    this.finished = new FinishedOrders(finished.map(([orderId]) => orderId));
    return ahead;
  }

  derive(state: OwnedState<KnownOrder>, entries: readonly OrderEntry[]): Derivation<KnownOrder> {
    const changed = new Map<string, KnownOrder>();
    const view = {
      get: (orderId: string) => changed.get(orderId) ?? state.get(orderId),
      set: (orderId: string, order: KnownOrder) => changed.set(orderId, order),
      latestSeconds: this.effects.latestSeconds(),
    };
    const derived = new DerivedEntries(this.effects, this.gatherings, view);
    for (const entry of entries) derived.add(entry);
    const changes = this.withForgotten(changed);
    return {
      changes,
      records: derived.toRecords(),
      conclude: () => {
        this.note(changes);
        derived.conclude();
      },
    };
  }

  private withForgotten(changed: ReadonlyMap<string, KnownOrder>): StateChange<KnownOrder>[] {
    const forgotten = this.finished.excess().filter((orderId) => !changed.has(orderId));
    return [...changed, ...forgotten.map((orderId) => [orderId, null] as const)];
  }

  private note(changes: readonly StateChange<KnownOrder>[]): void {
    for (const [orderId, order] of changes) {
      if (order !== null && isFinished(order)) this.finished.finished(orderId);
      else this.finished.delete(orderId);
    }
  }
}
