import { type GatheredEntry, type RelayEntry } from './order-entries.js';
import { type GatheredOrders, joined } from './gathered-orders.js';
import { type RelayReport } from './relay-reports.js';

interface Gathering {
  entry: RelayEntry;
  /** How many there are. */
  count: number;
  parts: Map<number, GatheredOrders>;
}

/**
 * The messages of a partition whose orders are at home elsewhere, until the owners of these have reported. Nothing
 * of it is written: a message that is delivered again is relayed again, and what was reported before is no
 * longer asked for.
 */
export class Gatherings {
  private readonly open = new Map<string, Gathering>();

  /** @param atHome what became of the message's orders here */
  begin(entry: RelayEntry, atHome: GatheredOrders): void {
    const { message, gathering, records } = entry;
    if (message.ownership.isLost) {
      message.abandon();
      return;
    }
    message.ownership.whenLost(this.dropLost);
    const parts = new Map([[0, atHome]]);
    this.open.set(gathering, { entry, count: records.length + 1, parts });
  }

  /** Returns the message whose last part this is. */
  add({ of, said }: RelayReport): GatheredEntry | undefined {
    const gathering = this.open.get(of.gathering);
    if (gathering === undefined) return undefined;
    const { entry, count, parts } = gathering;
    // the same part may be reported twice, when its owner has changed
    parts.set(of.part, said);
    if (parts.size < count) return undefined;
    this.open.delete(of.gathering);
    const { message, answered, source } = entry;
    const inOrder = [...parts].sort(([a], [b]) => a - b).map(([, part]) => part);
    return { kind: 'gathered', message, answered, source, said: joined(inOrder) };
  }

  /** One function for all messages: their partition knows its listeners by identity. */
  private readonly dropLost = (): void => {
    for (const [id, { entry }] of this.open) {
      if (!entry.message.ownership.isLost) continue;
      this.open.delete(id);
      entry.message.abandon();
    }
  };
}
