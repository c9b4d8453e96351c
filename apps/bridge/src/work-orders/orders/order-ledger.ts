import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { Clock } from '#libs/clock';
import type { BridgeSettings } from '#libs/config';
import { INTERNAL_TOPICS, type OrderMessage } from '#libs/contracts';
import {
  type InboundMessage,
  type InputState,
  type KafkaClient,
  KeyedState,
  type KeyedStateOptions,
  type OutboundRecord,
} from '#libs/kafka';
import {
  type AppliedOrder,
  applyToOrder,
  type AssignedOperation,
  AssignmentTable,
  FinishedOrders,
  fromStoredAssignment,
  fromStoredOrder,
  isDatedAhead,
  isFinished,
  type KnownOrder,
  type MessagePosition,
  type OrderFinding,
  toStoredAssignment,
  toStoredOrder,
} from '#libs/order-ledger';
import {
  CommandOutcomes,
  type CommandResult,
  MessageResults,
  notHandled,
  notStored,
  type RecordsOf,
  rejection,
} from '../../delivery/index.js';
import { BRIDGE_SETTINGS, KAFKA } from '../../platform/index.js';
import { Equipment, UnmappedWorkCentres } from '../equipment/equipment.js';
import { warnOfTimesAhead } from '../lists/list-watermarks.js';
import { WorkOrderLists } from '../lists/work-order-lists.js';
import {
  ASSIGNMENT_CHANGES,
  type HandleQueued,
  OrderQueues,
  RELAYED_ORDERS,
  type RelayedOrder,
} from './order-queues.js';

/** The orders of one partition, and the sequence in which the finished ones were finished. */
interface PartitionOrders {
  readonly state: InputState<KnownOrder>;
  readonly finished: FinishedOrders;
}

/** What to do if a queue that determines partitions has grown all the same: queued orders would get lost. */
const RECREATE_LEDGER =
  'orders and machines are shared out by it and cannot move. Stop all processes, delete the topics of the order ' +
  'ledger (machine-bridge.orders.v1, …order-requests.v1, …relayed-orders.v1, …order-refusals.v1, …assignment-changes.v1 ' +
  'and …assignments.v1), start, and have the ERP send its open orders again';

/**
 * The latest version of each order, in the partition of its id, and the operations on each machine, in the partition of
 * the machine's id. A message is applied to its order at once and written in one transaction with the order, the
 * assignment changes of each machine, outcomes, and the offset. A change is applied at once, and the machine's current
 * list is sent. Once the service has answered, the assignment is written with the outcome. Until then the change is not
 * finished: the next owner of the partition starts without it, and gets it redelivered.
 */
@Injectable()
export class OrderLedger {
  readonly orders: KeyedState<KnownOrder, PartitionOrders>;
  readonly assignments: KeyedState<readonly AssignedOperation[], AssignmentTable<OutboundRecord>>;
  private readonly logger = new Logger('OrderLedger');

  /** Outcomes for an order that has left the machine. */
  private readonly recordsOfLeft: RecordsOf = (target, results) =>
    this.outcomes.resultRecords(target, results.map(goneWithMachine));

  constructor(
    @Inject(BRIDGE_SETTINGS) private readonly settings: BridgeSettings,
    @Inject(KAFKA) private readonly kafka: KafkaClient,
    private readonly queues: OrderQueues,
    private readonly clock: Clock,
    private readonly equipment: Equipment,
    private readonly unmapped: UnmappedWorkCentres,
    private readonly lists: WorkOrderLists,
    private readonly outcomes: CommandOutcomes,
  ) {
    this.orders = this.stateOf(RELAYED_ORDERS, INTERNAL_TOPICS.orders, {
      format: toStoredOrder,
      parse: fromStoredOrder,
      onOwned: (state) => this.restoreOrders(state),
    });
    this.assignments = this.stateOf(ASSIGNMENT_CHANGES, INTERNAL_TOPICS.assignments, {
      format: toStoredAssignment,
      parse: fromStoredAssignment,
      onOwned: (state) => new AssignmentTable(state),
    });
  }

  /** Keyed state that follows from a queue, in the partitions of that queue. */
  private stateOf<V, H>(
    queue: typeof RELAYED_ORDERS | typeof ASSIGNMENT_CHANGES,
    name: string,
    options: Pick<KeyedStateOptions<V, H>, 'format' | 'parse' | 'onOwned'>,
  ): KeyedState<V, H> {
    const input = this.queues.fullName(queue);
    return new KeyedState<V, H>({
      ...options,
      kafka: this.kafka,
      name: this.queues.fullName(name),
      inputs: [input],
      placement: { topic: input, whenGrown: RECREATE_LEDGER },
      groupId: this.settings.kafka.groupId,
    });
  }

  /** Applies a record of relayed orders, in the order of the partition's offsets; ends the message. */
  readonly applyOrders: HandleQueued<typeof RELAYED_ORDERS> = (message, { orders }, ending) => {
    const partition = this.orders.holders.get(message.partition);
    if (partition === undefined) {
      message.abandon();
      return;
    }
    const taken = orders.map((order) => this.applyOrder(message, partition, order));
    const records = taken.flatMap((each) => each.records);
    message.finish([...records, ...ending], (refusal) => {
      for (const { undo } of taken.toReversed()) undo();
      const [only] = orders;
      if (orders.length === 1 && only !== undefined) {
        const target = this.queues.outcomeTarget(message, only);
        return [...this.outcomes.resultRecords(target, [notStored(refusal)]), ...ending];
      }
      // Written again one by one. A later message may be applied before them, which supersedes them.
      const again = orders.map((order) =>
        this.queues.queueRecord(RELAYED_ORDERS, message.partition, { orders: [order] }),
      );
      return [...again, ...ending];
    });
  };

  /** Applies a change, in the order of the partition's offsets; the message ends once its list is final. */
  readonly applyChange: HandleQueued<typeof ASSIGNMENT_CHANGES> = (message, change, ending) => {
    const table = this.assignments.holders.get(message.partition);
    if (table === undefined) {
      message.abandon();
      return;
    }
    const { machineId, orderId, operations, isAnswered = false } = change;
    const changed = table.assign(machineId, orderId, operations);
    const target = this.queues.outcomeTarget(message, change, {
      hasOutcome: isAnswered,
      records: changed === undefined ? ending : [changed.record, ...ending],
      whenRefused: (refusal) => {
        const isLatest = isDeepStrictEqual(table.operationsOf(machineId, orderId), operations);
        if (changed !== undefined && isLatest) table.assign(machineId, orderId, changed.before);
        const faults = [notStored(refusal, machineId)];
        return this.outcomes.resultRecords({ ...target, records: ending }, faults);
      },
    });
    const recordsOf = operations.length > 0 ? this.outcomes.resultRecords : this.recordsOfLeft;
    const results = new MessageResults(target, 1, recordsOf);
    const workingOrders = (): readonly string[] => table.listOf(machineId);
    this.lists.flow.submitCommand(machineId, { machineId, workingOrders }, results);
  };

  /** Returns the records to write, and a function that restores the order unless a later message has changed it. */
  private applyOrder(
    message: InboundMessage,
    orders: PartitionOrders,
    relayed: RelayedOrder,
  ): { records: readonly OutboundRecord[]; undo: () => void } {
    const outcomesOf = (results: readonly CommandResult[]): readonly OutboundRecord[] =>
      this.outcomes.resultRecords(this.queues.outcomeTarget(message, relayed), results);
    const { orderId, gone, messages, refused, wasUnmapped } = relayed;
    const position = positionOf(relayed);
    const before = orders.state.get(orderId);
    const undo = (): void => {
      const from = orders.state.get(orderId)?.from;
      const isLatest = from?.offset === position.offset && from.partition === position.partition;
      if (isLatest) orders.state.put(orderId, before ?? null);
    };
    try {
      // Storing it as cancelled would supersede the order's message if the ERP was asked too early.
      if (gone !== undefined && before === undefined) {
        const result = { kind: 'superseded', machineId: null, attempts: 0, detail: gone } as const;
        const results = relayed.isAnswered === true ? [] : [result];
        return { records: outcomesOf(results), undo };
      }
      const { latestSeconds } = this;
      // An absence is dated by the bridge's clock, and the known order by a clock that may be ahead of it.
      const knownAt = Math.min(before?.changedAt ?? -Infinity, latestSeconds);
      const dated =
        gone === undefined ? messages : messages.map((each) => datedAtLeast(each, knownAt));
      const { known, assignments, findings } = applyToOrder(
        { messages: dated, position, refused, wasUnmapped },
        before && withoutAbsence(before, relayed),
        this.equipment.machineOf,
        latestSeconds,
      );
      const results = this.toResults(relayed, findings);
      const records = this.changeRecords(relayed, assignments);
      if (known !== undefined) {
        const { state, finished } = orders;
        records.push(state.put(orderId, known));
        // The finished orders that are forgotten get tombstones.
        const forgotten = finished.recordOrder(orderId, isFinished(known));
        for (const oldest of forgotten) records.push(state.put(oldest, null));
      }
      if (results.length > 0) records.push(...outcomesOf(results));
      return { records, undo };
    } catch (error) {
      // A bug of the bridge that this order brings out.
      const { partition, offset } = message;
      this.logger.error({ msg: 'order not handled', orderId, partition, offset, err: error });
      return { records: outcomesOf([notHandled()]), undo };
    }
  }

  private get latestSeconds(): number {
    return this.clock.nowSeconds() + this.settings.erp.commandMaxSkewSeconds;
  }

  private restoreOrders(state: InputState<KnownOrder>): PartitionOrders {
    const { latestSeconds } = this;
    const ahead: string[] = [];
    const finished: [orderId: string, changedAt: number][] = [];
    for (const [orderId, order] of state.entries()) {
      if (isFinished(order)) finished.push([orderId, order.changedAt]);
      if (isDatedAhead(order, latestSeconds)) ahead.push(orderId);
    }
    warnOfTimesAhead(this.logger, state.partition, 'orderIds', ahead);
    finished.sort(([, a], [, b]) => a - b);
    return { state, finished: new FinishedOrders(finished.map(([orderId]) => orderId)) };
  }

  private changeRecords(
    { orderId, source, refused, trace }: RelayedOrder,
    assignments: AppliedOrder['assignments'],
  ): OutboundRecord[] {
    return [...assignments].map(([machineId, operations]) => {
      const isAnswered = refused?.includes(machineId) === true ? true : undefined;
      const change = { machineId, orderId, operations, source, isAnswered };
      const partition = this.queues.partitionOfMachine(machineId);
      return this.queues.queueRecord(ASSIGNMENT_CHANGES, partition, change, trace);
    });
  }

  /** Outcomes for the findings. One without a machine is left out if the message has been answered before. */
  private toResults(
    { orderId, isAnswered = false }: RelayedOrder,
    findings: readonly OrderFinding[],
  ): CommandResult[] {
    return findings.flatMap((finding): CommandResult[] => {
      switch (finding.kind) {
        case 'rejected':
          for (const operation of finding.unmapped ?? [])
            this.unmapped.addPlace(orderId, operation);
          return [rejection(finding.rejection)];
        case 'superseded':
          return isAnswered && finding.machineId === null ? [] : [{ attempts: 0, ...finding }];
        case 'taken-in': {
          const appliedAt = this.clock.nowSeconds();
          return isAnswered ? [] : [{ kind: 'applied', machineId: null, attempts: 0, appliedAt }];
        }
        default:
          return finding satisfies never;
      }
    });
  }
}

/** In place of the message's partition: an answer of the ERP, and the answer that it does not have the order. */
const ASKED = -2;
const GONE = -3;

/** The position that orders equally old messages: that of the record, or when the ERP was asked. */
export function positionOf({ source, recordedAt, askedAt, gone }: RelayedOrder): MessagePosition {
  if (askedAt === undefined) {
    return { partition: source.partition, offset: source.offset, recordedAt };
  }
  const partition = gone === undefined ? ASKED : GONE;
  return { partition, offset: askedAt, recordedAt: askedAt };
}

function datedAtLeast(message: OrderMessage, seconds: number): OrderMessage {
  if (message.kind === 'snapshot' || message.order.changedAt >= seconds) return message;
  return { ...message, order: { ...message.order, changedAt: seconds } };
}

/**
 * The known order. If it is known as absent, an ERP answer that has it again is compared with it by when the two were
 * asked for: its own time of change may be long ago.
 */
function withoutAbsence(known: KnownOrder, { askedAt, gone, messages }: RelayedOrder): KnownOrder {
  if (askedAt === undefined || gone !== undefined || known.from.partition !== GONE) return known;
  return { ...known, changedAt: Math.min(...messages.map(({ order }) => order.changedAt)) };
}

/** A machine that the service no longer lists has no list to take the order off: the message is not at fault. */
function goneWithMachine(result: CommandResult): CommandResult {
  if (result.kind !== 'rejected' || result.rejection.code !== 'unknown-machine') return result;
  const { machineId, attempts, rejection } = result;
  return { kind: 'superseded', machineId, attempts, detail: rejection.detail };
}
