import { Logger } from '@nestjs/common';
import { afterRealMs, realNowMs } from '#libs/clock';
import { type GatheredOrders, joined } from './gathered-orders.js';
import { type GatheredEntry, type RelayEntry } from './order-entries.js';
import { type RelayReport } from './relay-reports.js';

/** Longer than a process that has died is waited for. */
const LATE_MS = 60_000;

interface Gathering {
  entry: RelayEntry;
  sinceMs: number;
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
  private readonly logger = new Logger('RelayedOrders');
  /** In the order in which they have begun. */
  private readonly open = new Map<string, Gathering>();
  private isWatched = false;

  /** @param atHome what became of the message's orders here */
  begin(entry: RelayEntry, atHome: GatheredOrders): void {
    const { message, gathering, records } = entry;
    if (message.ownership.isLost) {
      message.abandon();
      return;
    }
    message.ownership.whenLost(this.dropLost);
    const parts = new Map([[0, atHome]]);
    const count = records.length + 1;
    this.open.set(gathering, { entry, sinceMs: realNowMs(), count, parts });
    this.watch();
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

  /** Says what is waited for, once a minute for all messages together. */
  private watch(): void {
    if (this.isWatched) return;
    this.isWatched = true;
    afterRealMs(LATE_MS, () => {
      this.isWatched = false;
      const [oldest] = this.open.values();
      if (oldest === undefined) return;
      if (realNowMs() - oldest.sinceMs >= LATE_MS) this.warn(oldest);
      this.watch();
    });
  }

  private warn({ entry, parts }: Gathering): void {
    const { partition, offset } = entry.message;
    const homes = entry.records
      .filter((_record, index) => !parts.has(index + 1))
      .map((record) => record.partition);
    this.logger.warn({
      msg: 'orders wait for the owners of their partitions',
      ...{ waiting: this.open.size, oldest: { partition, offset, homes } },
    });
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
