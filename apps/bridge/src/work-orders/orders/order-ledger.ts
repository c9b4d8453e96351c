import { Inject, Injectable, Logger } from '@nestjs/common';
import { Clock } from '#libs/clock';
import { type BridgeSettings } from '#libs/config';
import { type OwnedState } from '#libs/messaging';
import { CommandOutcomes } from '../../command-delivery/index.js';
import { Equipment, UnmappedWorkCentres } from '../../equipment/index.js';
import { BRIDGE_SETTINGS } from '../../platform/index.js';
import { changeRecord } from '../assignments/assignment-change.js';
import { OwnedPartitions } from '../owned-partitions.js';
import { type PartitionWork, PartitionWriter } from '../partition-writer.js';
import { type Refusal, refusalResult } from '../refusal.js';
import { type KnownOrder } from './known-order.js';
import { type OrderAnswer, type OrderEntry, PartitionOrders } from './partition-orders.js';
import { resultWithoutMachine } from './without-machine.js';

/**
 * The last snapshot of each order (contract §2.2), by the partition its messages come through, and from
 * it what changes on each machine. Both are written in one transaction; who owns the machine goes on
 * from there.
 */
@Injectable()
export class OrderLedger {
  private readonly logger = new Logger('OrderLedger');
  private readonly writers = new OwnedPartitions(() => new PartitionWriter(this.work()));
  private readonly topicPrefix: string;

  constructor(
    @Inject(BRIDGE_SETTINGS) { kafka }: BridgeSettings,
    private readonly clock: Clock,
    private readonly equipment: Equipment,
    private readonly unmapped: UnmappedWorkCentres,
    private readonly outcomes: CommandOutcomes,
  ) {
    this.topicPrefix = kafka.topicPrefix;
  }

  /** Takes over a partition that has just been restored. */
  own(state: OwnedState<KnownOrder>): void {
    this.writers.own(state);
  }

  /** Takes messages of one partition in the order of their offsets; each is answered once it is written. */
  take(partition: number, entries: readonly OrderEntry[]): void {
    this.writers.of(partition).take(entries);
  }

  private work(): PartitionWork<KnownOrder, OrderEntry> {
    const orders = new PartitionOrders({
      machineOf: (operation) => this.equipment.machineOf(operation),
      toRecord: (change) => changeRecord(this.topicPrefix, change),
      toOutcome: ({ answered }, answer) =>
        this.outcomes.toRecord(
          'work-order-list',
          answered,
          resultWithoutMachine(answer, this.clock.nowSeconds()),
        ),
      answer: (answer) => {
        this.answer(answer);
      },
    });
    return {
      restored: (state) => {
        orders.restored(state);
      },
      derive: (state, entries) => orders.derive(state, entries),
      refuse: (entry, refusal) => {
        this.refuse(entry, refusal);
      },
    };
  }

  /** What is left to say is said by whoever owns the machines. */
  private answer({ entry, results, assigned, unmapped, withoutMachine }: OrderAnswer): void {
    const { answered } = entry;
    for (const { orderId, operation } of unmapped) this.unmapped.note(orderId, operation);
    if (withoutMachine) this.outcomes.noteWritten('work-order-list', withoutMachine.kind);
    if (results.length === 0) {
      answered.message.finish();
      return;
    }
    this.outcomes.answersTo(
      'work-order-list',
      assigned === 0 ? answered : { ...answered, namesOthers: true },
      0,
      results,
    );
  }

  private refuse({ answered, message: { partition, offset } }: OrderEntry, refusal: Refusal): void {
    const { why, error } = refusal;
    const msg = why === 'defect' ? 'orders not handled' : 'orders larger than their topics take';
    this.logger.error({ msg, partition, offset, err: error });
    const result = refusalResult(refusal, 'what is to be remembered of its orders');
    this.outcomes.answersTo('work-order-list', answered, 0, [result]);
  }
}
