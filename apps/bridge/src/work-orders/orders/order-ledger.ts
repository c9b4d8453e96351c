import { Inject, Injectable, Logger } from '@nestjs/common';
import { Clock } from '#libs/clock';
import { type BridgeSettings } from '#libs/config';
import { type OwnedState } from '#libs/messaging';
import { CommandOutcomes, type CommandResult } from '../../command-delivery/index.js';
import { Equipment, UnmappedWorkCentres } from '../../equipment/index.js';
import { BRIDGE_SETTINGS, tightenHeapForOrders } from '../../platform/index.js';
import { warnOfTimesAhead } from '../times-ahead.js';
import { changeRecords } from '../assignments/assignment-change.js';
import { OwnedPartitions } from '../owned-partitions.js';
import { type PartitionWork } from '../partition-writer.js';
import { QueuePartition } from '../queue-partition.js';
import { type Refusal, refusalResult } from '../refusal.js';
import { Homes } from './homes.js';
import { type KnownOrder } from './known-order.js';
import { type OrderAnswer } from './derived-entries.js';
import { type OrderEntry, type PartEntry } from './order-entries.js';
import { PartitionOrders } from './partition-orders.js';
import { reportRecord } from './relay-reports.js';
import { resultWithoutMachine } from './without-machine.js';

/**
 * The last snapshot of each order (contract §2.2), by the partition that is its home, and from it what changes
 * on each machine. Both are written in one transaction; who owns the machine goes on from there.
 */
@Injectable()
export class OrderLedger {
  private readonly logger = new Logger('OrderLedger');
  private readonly partitions: OwnedPartitions<KnownOrder, QueuePartition<KnownOrder, OrderEntry>>;
  private readonly topicPrefix: string;
  private readonly maxSkewSeconds: number;

  constructor(
    @Inject(BRIDGE_SETTINGS) { kafka, erp }: BridgeSettings,
    private readonly clock: Clock,
    private readonly equipment: Equipment,
    private readonly unmapped: UnmappedWorkCentres,
    private readonly outcomes: CommandOutcomes,
    private readonly homes: Homes,
  ) {
    this.topicPrefix = kafka.topicPrefix;
    this.maxSkewSeconds = erp.commandMaxSkewSeconds;
    const queues = {
      topicPrefix: this.topicPrefix,
      hold: ({ kind }: OrderEntry) => kind === 'part' || kind === 'report',
    };
    this.partitions = new OwnedPartitions(() => new QueuePartition(this.work(), queues));
  }

  /** Takes over a partition that has just been restored. */
  own(state: OwnedState<KnownOrder>): void {
    this.partitions.own(state);
  }

  /**
   * Takes messages of one partition in the order of their offsets; each is answered once it is written. Resolves once
   * others may come.
   */
  take(partition: number, entries: readonly OrderEntry[]): Promise<void> {
    tightenHeapForOrders();
    const orders = this.partitions.of(partition);
    orders.take(entries);
    return orders.room();
  }

  private work(): PartitionWork<KnownOrder, OrderEntry> {
    const orders = new PartitionOrders({
      machineOf: (operation) => this.equipment.machineOf(operation),
      latestSeconds: () => this.clock.nowSeconds() + this.maxSkewSeconds,
      toChanges: (changes) =>
        changeRecords(this.topicPrefix, changes, (id) => this.homes.ofMachine(id)),
      toReport: (report) => reportRecord(this.topicPrefix, report),
      toOutcome: (answered, answer) =>
        this.outcomes.toRecord(
          'work-order-list',
          answered,
          resultWithoutMachine(answer, this.clock.nowSeconds()),
        ),
      answer: (answer) => {
        this.answer(answer);
      },
      gathered: (entry) => {
        void this.take(entry.message.partition, [entry]);
      },
    });
    return {
      restored: (state) => {
        const ahead = orders.restored(state);
        if (ahead.length > 0) warnOfTimesAhead(this.logger, state.partition, 'orderIds', ahead);
      },
      derive: (state, entries) => orders.derive(state, entries),
      refuse: (entry, refusal) => {
        this.refuse(entry, refusal);
      },
    };
  }

  /** What is left to say is said by whoever owns the machines. */
  private answer({
    entry,
    results,
    assigned,
    unmapped,
    withoutMachine,
    records,
  }: OrderAnswer): void {
    const { answered } = entry;
    for (const { orderId, operation } of unmapped) this.unmapped.note(orderId, operation);
    if (withoutMachine) this.outcomes.noteWritten('work-order-list', withoutMachine.kind);
    const told = assigned === 0 ? answered : { ...answered, namesOthers: true };
    const outcomes =
      results.length === 0 ? [] : this.outcomes.recordsOf('work-order-list', told, results);
    answered.message.finish([...records, ...outcomes]);
  }

  private refuse(entry: OrderEntry, refusal: Refusal): void {
    const { message } = entry;
    const { partition, offset } = message;
    const { why, error } = refusal;
    const msg = why === 'defect' ? 'orders not handled' : 'orders larger than their topics take';
    this.logger.error({ msg, topic: message.topic, partition, offset, err: error });
    const result = refusalResult(refusal, 'what is to be remembered of its orders');
    if (entry.kind === 'part') this.reportRefused(entry, result);
    else if (entry.kind === 'report') message.finish();
    else message.finish(this.outcomes.recordsOf('work-order-list', entry.answered, [result]));
  }

  private reportRefused({ message, reportTo }: PartEntry, result: CommandResult): void {
    const said = { machineIds: [], results: [result], unmapped: [], standings: [] };
    message.finish([reportRecord(this.topicPrefix, { of: reportTo, said })]);
  }
}
