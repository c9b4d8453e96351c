import { Inject, Injectable, Logger } from '@nestjs/common';
import { Clock } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import { INTERNAL_TOPICS, type OrderMessage } from '#libs/contracts';
import {
  type InboundMessage,
  type KafkaClient,
  KeyedState,
  type KeyedStateTopic,
  type OutboundRecord,
  type OwnedState,
} from '#libs/kafka';
import {
  FinishedOrders,
  fromStoredOrder,
  isAhead,
  isFinished,
  type KnownOrder,
  type OrderFinding,
  applyToOrder,
  type AppliedOrder,
  toStoredOrder,
} from '#libs/order-ledger';
import {
  type AnsweredMessage,
  CommandOutcomes,
  type CommandResult,
  notHandled,
  notTaken,
  rejection,
} from '../../delivery/index.js';
import { Equipment, UnmappedWorkCentres } from '../../equipment/index.js';
import { BRIDGE_SETTINGS, KAFKA } from '../../platform/index.js';
import { OwnedPartitions, warnOfTimesAhead } from '../state/owned-partitions.js';
import {
  answeredBy,
  ASSIGNMENT_CHANGES,
  positionOf,
  queueRecord,
  RELAYED_ORDERS,
  type RelayedOrder,
  type RelayedOrders,
} from './queues.js';
import { OrderPartitioner, LEDGER_BEGINS_ANEW } from './order-partitioner.js';
import { QueueRetention } from './queue-retention.js';

/** The orders of one partition, and the order in which the finished ones were finished. */
interface PartitionOrders {
  readonly state: OwnedState<KnownOrder>;
  readonly finished: FinishedOrders;
}

/**
 * The last snapshot of each order, in the partition of its id. A message is applied to its order
 * at once, and written with all that follows in one transaction: the order, the assignment changes of each machine,
 * outcomes, and the offset.
 */
@Injectable()
export class OrderLedger {
  /** Orders by id, in the partition they are relayed to. */
  readonly topic: KeyedStateTopic;
  private readonly logger = new Logger('OrderLedger');
  private readonly partitions = new OwnedPartitions((state: OwnedState<KnownOrder>) =>
    this.restored(state),
  );
  private readonly topicPrefix: string;
  private readonly maxSkewSeconds: number;

  constructor(
    @Inject(BRIDGE_SETTINGS) { kafka: { topicPrefix, groupId }, erp }: BridgeSettings,
    @Inject(KAFKA) kafka: KafkaClient,
    private readonly clock: Clock,
    private readonly equipment: Equipment,
    private readonly unmapped: UnmappedWorkCentres,
    private readonly outcomes: CommandOutcomes,
    private readonly partitioner: OrderPartitioner,
    private readonly retention: QueueRetention,
  ) {
    this.topicPrefix = topicPrefix;
    this.maxSkewSeconds = erp.commandMaxSkewSeconds;
    this.topic = new KeyedState<KnownOrder>({
      kafka,
      name: `${topicPrefix}${INTERNAL_TOPICS.orders}`,
      inputs: [RELAYED_ORDERS],
      placement: { topic: `${topicPrefix}${RELAYED_ORDERS}`, whenGrown: LEDGER_BEGINS_ANEW },
      transactionalIdPrefix: groupId,
      format: toStoredOrder,
      parse: fromStoredOrder,
      onOwned: this.own,
    });
  }

  /** Takes over a partition that has just been restored. */
  readonly own = (state: OwnedState<KnownOrder>): void => {
    this.partitions.own(state);
  };

  /** Applies a record of relayed orders, in the order of the partition's offsets; ends the message. */
  takeOrders(message: InboundMessage, { orders }: RelayedOrders): void {
    const partition = this.partitions.get(message.partition);
    if (partition === undefined) {
      message.abandon();
      return;
    }
    const ending = this.retention.endOf(message);
    const taken = orders.map((order) => this.applyOrder(message, partition, order));
    const records = taken.flatMap((each) => each.records);
    message.finish([...records, ...ending], (refusal) => {
      for (const { undo } of taken.toReversed()) undo();
      const [only] = orders;
      if (orders.length === 1 && only !== undefined) {
        const answered = answeredBy(this.topicPrefix, message, only);
        return [...this.outcomesOf(answered, [notTaken(refusal)]), ...ending];
      }
      // to be taken one by one: a later message may come before them, which makes them superseded
      const again = orders.map((order) =>
        queueRecord(this.topicPrefix, RELAYED_ORDERS, message.partition, { orders: [order] }),
      );
      return [...again, ...ending];
    });
  }

  /** Returns the records to write, and the function that restores the order, unless a later message has changed it. */
  private applyOrder(
    message: InboundMessage,
    orders: PartitionOrders,
    relayed: RelayedOrder,
  ): { records: readonly OutboundRecord[]; undo: () => void } {
    const answered = answeredBy(this.topicPrefix, message, relayed);
    const { orderId, gone } = relayed;
    const position = positionOf(relayed);
    const before = orders.state.get(orderId);
    const undo = (): void => {
      const from = orders.state.get(orderId)?.from;
      const isLatest = from?.offset === position.offset && from.partition === position.partition;
      if (isLatest) orders.state.put(orderId, before ?? null);
    };
    try {
      // remembered as cancelled, it would keep out what was read too early to be there
      if (gone !== undefined && before === undefined) {
        const result = { kind: 'superseded', machineId: null, attempts: 0, detail: gone } as const;
        const results = relayed.isAnswered === true ? [] : [result];
        return { records: this.outcomesOf(answered, results), undo };
      }
      const taken = this.derive(relayed, before);
      this.noteUnmapped(orderId, taken);
      const results = this.resultsOf(relayed, taken);
      const records = this.changesOf(relayed, taken);
      if (taken.known !== undefined) records.push(...this.remember(orders, orderId, taken.known));
      if (results.length > 0) records.push(...this.outcomesOf(answered, results));
      return { records, undo };
    } catch (error) {
      // A bug of ours that this order brings out.
      const { partition, offset } = message;
      this.logger.error({ msg: 'order not handled', orderId, partition, offset, err: error });
      return { records: this.outcomesOf(answered, [notHandled()]), undo };
    }
  }

  private get latestSeconds(): number {
    return this.clock.nowSeconds() + this.maxSkewSeconds;
  }

  private restored(state: OwnedState<KnownOrder>): PartitionOrders {
    const { latestSeconds } = this;
    const ahead: string[] = [];
    const finished: [orderId: string, changedAt: number][] = [];
    for (const [orderId, order] of state.entries()) {
      if (isFinished(order)) finished.push([orderId, order.changedAt]);
      if (isAhead(order, latestSeconds)) ahead.push(orderId);
    }
    if (ahead.length > 0) warnOfTimesAhead(this.logger, state.partition, 'orderIds', ahead);
    finished.sort(([, a], [, b]) => a - b);
    return { state, finished: new FinishedOrders(finished.map(([orderId]) => orderId)) };
  }

  private derive(relayed: RelayedOrder, before: KnownOrder | undefined): AppliedOrder {
    const { latestSeconds } = this;
    const { gone, refused, wasUnmapped } = relayed;
    let { messages } = relayed;
    if (gone !== undefined && before !== undefined) {
      // it goes by when the ERP was asked alone: the clock that the known order is dated by may be ahead
      const knownAt = Math.min(before.changedAt, latestSeconds);
      messages = messages.map((each) => datedAtLeast(each, knownAt));
    }
    return applyToOrder(
      { messages, position: positionOf(relayed), refused, wasUnmapped },
      before,
      (operation) => this.equipment.machineOf(operation),
      latestSeconds,
    );
  }

  private noteUnmapped(orderId: string, { findings }: AppliedOrder): void {
    for (const finding of findings) {
      if (finding.kind !== 'rejected') continue;
      for (const operation of finding.unmapped ?? []) this.unmapped.note(orderId, operation);
    }
  }

  /** With the order, those finished orders are written that are forgotten for it. */
  private remember(
    { state, finished }: PartitionOrders,
    orderId: string,
    known: KnownOrder,
  ): OutboundRecord[] {
    const records = [state.put(orderId, known)];
    if (!isFinished(known)) {
      finished.delete(orderId);
      return records;
    }
    finished.finished(orderId);
    for (const forgotten of finished.excess()) {
      finished.delete(forgotten);
      records.push(state.put(forgotten, null));
    }
    return records;
  }

  private changesOf(
    { orderId, source, refused, trace }: RelayedOrder,
    { assignments }: AppliedOrder,
  ): OutboundRecord[] {
    return [...assignments].map(([machineId, operations]) => {
      const isAnswered = refused?.includes(machineId) === true ? true : undefined;
      const change = { machineId, orderId, operations, source, isAnswered };
      const partition = this.partitioner.ofMachine(machineId);
      return queueRecord(this.topicPrefix, ASSIGNMENT_CHANGES, partition, change, trace);
    });
  }

  /** What is left to say is said by whoever owns the machines. */
  private resultsOf(
    { isAnswered }: RelayedOrder,
    { findings }: AppliedOrder,
  ): readonly CommandResult[] {
    const left =
      isAnswered === true ? findings.filter((each) => !concernsNoMachine(each)) : findings;
    return left.map((finding) => this.resultOf(finding));
  }

  private resultOf(finding: OrderFinding): CommandResult {
    switch (finding.kind) {
      case 'superseded':
        return { attempts: 0, ...finding };
      case 'rejected':
        return rejection(finding.rejection);
      case 'taken-in': {
        const appliedAt = this.clock.nowSeconds();
        return { kind: 'applied', machineId: null, attempts: 0, appliedAt };
      }
      default:
        return finding satisfies never;
    }
  }

  private outcomesOf(
    answered: AnsweredMessage,
    results: readonly CommandResult[],
  ): readonly OutboundRecord[] {
    return this.outcomes.recordsOf('work-order-list', answered, results);
  }
}

function datedAtLeast(message: OrderMessage, seconds: number): OrderMessage {
  if (message.kind === 'snapshot' || message.order.changedAt >= seconds) return message;
  return { ...message, order: { ...message.order, changedAt: seconds } };
}

/** Such an outcome is there for a message that would have none: a rejected one has. */
function concernsNoMachine(finding: OrderFinding): boolean {
  if (finding.kind === 'taken-in') return true;
  return finding.kind === 'superseded' && finding.machineId === null;
}
