import fc from 'fast-check';
import { ManualClock } from '#libs/clock';
import { OrderMapping } from '#libs/erp-formats';
import { BoundedExpressions } from '#libs/expressions';
import {
  isFinishedStatus,
  ORDER_STATUSES,
  type OrderOperation,
  type OrderSnapshot,
} from '#libs/contracts';
import { createKafka, DeadLetters, type OutboundRecord } from '#libs/kafka';
import type { AssignedOperation, KnownOrder } from '#libs/order-ledger';
import { bridgeSettings } from '../platform/testing/bridge-settings.js';
import { CommandOutcomes, type MessageResults } from '../delivery/index.js';
import type { Equipment, UnmappedWorkCentres } from './equipment/equipment.js';
import type { MachineDirectory } from '../machine-directory/index.js';
import { type ListToSet, ordersOf, type WorkOrderLists } from './lists/work-order-lists.js';
import { OrderRelay } from './orders/order-relay.js';
import { OrderQueues } from './orders/order-queues.js';
import { OrderLedger } from './orders/order-ledger.js';
import type { DeadLetterAggregator } from './orders/dead-letter-aggregator.js';
import type { OrderRequests } from './requests/order-requests.js';
import { WorkOrdersController } from './work-orders.controller.js';
import { inboundMessage } from '../delivery/testing/inbound-message.js';
import { ownedState } from './testing/owned-state.js';

const PARTITIONS = [0, 1] as const;
const STAGES = ['erp.work-orders', 'relayed-orders', 'assignment-changes'] as const;
type Stage = (typeof STAGES)[number];
const ORDERS = ['4711', '4712'];
const MACHINES = ['M-1', 'M-2'];
const SOME_TIME = 1_700_000_000;
const partitionOf = (ids: readonly string[], id: string): number => ids.indexOf(id) % 2;

const anOrder: fc.Arbitrary<OrderSnapshot> = fc.record({
  orderId: fc.constantFrom(...ORDERS),
  changedAt: fc.nat(2).map((more) => SOME_TIME + more),
  status: fc.constantFrom('released', ...ORDER_STATUSES),
  operations: fc.uniqueArray(
    fc.record(
      {
        operationId: fc.constantFrom('0010', '0020'),
        machineId: fc.constantFrom(...MACHINES),
        status: fc.constantFrom('released', 'held', 'started', 'completed', 'planned'),
        sequence: fc.constantFrom(0, 9, 10),
        plannedStart: fc.constantFrom(SOME_TIME, SOME_TIME + 1),
      },
      { requiredKeys: ['operationId', 'machineId', 'status'] },
    ),
    { selector: ({ operationId }) => operationId, minLength: 1, maxLength: 2 },
  ),
});

/** One partition of one stage, or all of them: otherwise hardly any message would get through. */
const some = <T>(...each: T[]): fc.Arbitrary<readonly T[]> =>
  fc.constantFrom(each, ...each.map((one) => [one]));
const places = { stages: some(...STAGES), partitions: some(...PARTITIONS) };
const count = fc.integer({ min: 1, max: 4 });

const aStep = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      ...{ kind: fc.constant('sent' as const), order: anOrder },
      partition: fc.constantFrom(...PARTITIONS),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('handed over' as const), ...places, count }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      ...{ kind: fc.constant('answered' as const), machineIds: some(...MACHINES), count },
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('committed' as const), ...places, count }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('crashed' as const), ...places }) },
);

type Step = typeof aStep extends fc.Arbitrary<infer S> ? S : never;

const settings = bridgeSettings();
const clock = new ManualClock((SOME_TIME + 100) * 1000);
const kafka = createKafka(settings.kafka);
const mapping = new OrderMapping([], new BoundedExpressions());
const unmapped = {} as UnmappedWorkCentres;
const equipment = { machineOf: ({ machineId }: OrderOperation) => machineId } as Equipment;
const queues = new OrderQueues(settings, kafka);
Object.assign(queues, {
  readPartitionCounts: () => Promise.resolve(),
  partitionOfOrder: (id: string) => partitionOf(ORDERS, id),
  partitionOfMachine: (id: string) => partitionOf(MACHINES, id),
  /** Ended records are not read again: the topic may do without tombstones. */
  tombstone: () => [],
});

interface Ended {
  offsets: readonly number[];
  records: readonly OutboundRecord[];
}

/** An input partition in Kafka, and its owner. */
class InputPartition {
  readonly log: { key: Buffer | null; value: Buffer | null; timestamp: string }[] = [];
  readonly values = new Map<string, unknown>();
  private readonly committed = new Set<number>();
  position = 0;
  ended: Ended[] = [];
  ownership = new AbortController();

  next(most: number): number[] {
    const offsets: number[] = [];
    while (this.position < this.log.length && offsets.length < most) {
      if (!this.committed.has(this.position)) offsets.push(this.position);
      this.position += 1;
    }
    return offsets;
  }

  commit(most: number): OutboundRecord[] {
    const batch = this.ended.splice(0, most);
    for (const { offsets } of batch) for (const offset of offsets) this.committed.add(offset);
    return batch.flatMap(({ records }) => records);
  }

  lose(): void {
    this.ownership.abort(new Error('crashed'));
    this.ownership = new AbortController();
    this.position = 0;
    this.ended = [];
  }
}

/** The whole path from orders to lists, without Kafka, processes and the service. */
class OrderFlow {
  readonly service = new Map<string, readonly string[]>();
  readonly outcomes: string[] = [];
  readonly failed: unknown[] = [];
  private sent = 0;
  private readonly waiting: { list: ListToSet; answers: MessageResults }[] = [];
  private readonly inputs = new Map<string, InputPartition>();
  private readonly ledger: OrderLedger;
  private readonly controller: WorkOrdersController;

  constructor() {
    const outcomes = new CommandOutcomes(settings, clock, new DeadLetters(clock, ''));
    const flow = {
      submitCommand: (_: string, list: ListToSet, answers: MessageResults) =>
        this.waiting.push({ list, answers }),
    };
    const lists = { flow } as unknown as WorkOrderLists;
    this.ledger = new OrderLedger(
      ...([settings, kafka, queues, clock, equipment, unmapped, lists, outcomes] as const),
    );
    const directory = { hasMachine: () => true } as unknown as MachineDirectory;
    const relay = new OrderRelay(
      ...([settings, clock, mapping, queues, equipment, unmapped, directory, outcomes] as const),
    );
    const deadLetters = {} as DeadLetterAggregator;
    this.controller = new WorkOrdersController(
      ...([relay, queues, {} as OrderRequests, this.ledger, deadLetters] as const),
    );
    for (const stage of STAGES) for (const partition of PARTITIONS) this.own(stage, partition);
  }

  async step(step: Step): Promise<void> {
    switch (step.kind) {
      case 'sent': {
        this.sent += 1;
        const value = Buffer.from(JSON.stringify(step.order));
        const record = { key: null, value, timestamp: String(this.sent) };
        this.input(STAGES[0], step.partition).log.push(record);
        return;
      }
      case 'handed over':
        await this.each(step, (stage, partition) => this.handOver(stage, partition, step.count));
        return;
      case 'answered':
        for (const machineId of step.machineIds) this.answer(machineId, step.count);
        return;
      case 'committed':
        await this.each(step, (stage, partition) => {
          this.write(this.input(stage, partition).commit(step.count));
        });
        return;
      case 'crashed':
        await this.each(step, (stage, partition) => {
          this.input(stage, partition).lose();
          this.own(stage, partition);
        });
        return;
      default:
        step satisfies never;
    }
  }

  async finish(): Promise<void> {
    for (const stage of STAGES) {
      for (const partition of PARTITIONS) {
        await this.handOver(stage, partition, Infinity);
        for (const machineId of MACHINES) this.answer(machineId, Infinity);
        this.write(this.input(stage, partition).commit(Infinity));
      }
    }
  }

  private async each(
    { stages, partitions }: { stages: readonly Stage[]; partitions: readonly number[] },
    act: (stage: Stage, partition: number) => Promise<void> | void,
  ): Promise<void> {
    for (const stage of stages) for (const partition of partitions) await act(stage, partition);
  }

  private input(stage: string, partition: number): InputPartition {
    const name = `${stage}/${partition}`;
    let input = this.inputs.get(name);
    if (input === undefined) this.inputs.set(name, (input = new InputPartition()));
    return input;
  }

  private own(stage: Stage, partition: number): void {
    const { values } = this.input(stage, partition);
    const { signal: lost } = this.input(stage, partition).ownership;
    const of = { partition, name: `state of ${stage}`, lost };
    if (stage === 'relayed-orders')
      this.ledger.orders.own(ownedState(values as Map<string, KnownOrder>, of));
    if (stage === 'assignment-changes') {
      const operations = values as Map<string, readonly AssignedOperation[]>;
      this.ledger.assignments.own(ownedState(operations, of));
    }
  }

  private async handOver(stage: Stage, partition: number, most: number): Promise<void> {
    const input = this.input(stage, partition);
    const { signal: revoked } = input.ownership;
    const messages = input.next(most).map((offset) =>
      inboundMessage({
        ...input.log[offset],
        ...{ offset, topic: `machine-bridge.${stage}.v1`, partition, revoked },
        finish: (records = []) => {
          if (!revoked.aborted) input.ended.push({ offsets: [offset], records });
        },
        finishWith: (others, records) => {
          const offsets = [offset, ...others.map((other) => other.offset)];
          if (!revoked.aborted) input.ended.push({ offsets, records });
        },
        fail: (error) => this.failed.push(error),
      }),
    );
    if (stage === 'erp.work-orders') await this.controller.handleDocuments(messages);
    else if (stage === 'relayed-orders') await this.controller.handleOrders(messages);
    else await this.controller.handleChanges(messages);
  }

  /** The service takes some lists of a machine, the first one first. */
  private answer(machineId: string, most: number): void {
    const isIts = ({ list }: { list: ListToSet }): boolean => list.machineId === machineId;
    for (const each of this.waiting.filter(isIts).slice(0, most)) {
      this.waiting.splice(this.waiting.indexOf(each), 1);
      // A list is sent only if a message waits for it.
      if (each.answers.message.revoked.aborted) continue;
      this.service.set(machineId, ordersOf(each.list));
      each.answers.addResult({ kind: 'applied', machineId, attempts: 1, appliedAt: 1 }, 0);
    }
  }

  private write(records: readonly OutboundRecord[]): void {
    for (const { topic, partition = 0, key, value, headers } of records) {
      const [kind, stage] = topic.split(' of ');
      if (kind === 'state' && stage !== undefined) {
        const { values } = this.input(stage, partition);
        if (value === null) values.delete(String(key));
        else values.set(String(key), JSON.parse(String(value)));
      } else if (topic.includes('outcomes')) {
        this.outcomes.push((headers as Record<string, string>)['ce_id'] ?? '');
      } else {
        const queue = STAGES.find((each) => topic.includes(each)) ?? topic;
        const bytes = value === null ? null : Buffer.from(value);
        this.input(queue, partition).log.push({
          ...{ key: Buffer.from(String(key)), value: bytes, timestamp: '0' },
        });
      }
    }
  }
}

/** The newest message of each order, the later one of equals. */
function newestOf(history: readonly OrderSnapshot[]): Map<string, OrderSnapshot> {
  const newest = new Map<string, OrderSnapshot>();
  for (const order of history) {
    if (order.changedAt >= (newest.get(order.orderId)?.changedAt ?? 0)) {
      newest.set(order.orderId, order);
    }
  }
  return newest;
}

const LISTED: readonly string[] = ['released', 'started', 'held'];

/** By the contract, not by the ledger. */
function listsOf(history: readonly OrderSnapshot[]): (readonly string[])[] {
  const orders = [...newestOf(history).values()].filter(({ status }) => !isFinishedStatus(status));
  return MACHINES.map((machineId) => {
    const entries = orders.flatMap(({ orderId, operations }) => {
      const there = operations.filter((each) => each.machineId === machineId);
      return there
        .filter(({ status }) => LISTED.includes(status))
        .map(({ operationId, sequence = 0, plannedStart = Infinity }) => ({
          name: there.length > 1 ? `${orderId}-${operationId}` : orderId,
          rank: [sequence === 0 ? Infinity : sequence, plannedStart, orderId, operationId] as const,
        }));
    });
    return entries.sort((a, b) => compareRanks(a.rank, b.rank)).map(({ name }) => name);
  });
}

function compareRanks<T extends readonly (number | string)[]>(a: T, b: T): number {
  const decisive = a.findIndex((it, at) => it !== b[at]);
  return (a[decisive] ?? 0) < (b[decisive] ?? 0) ? -1 : 1;
}

describe('any history of orders, with crashes between any two steps', () => {
  it('ends with the lists of the newest message of each order, and publishes each outcome once', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(aStep, { minLength: 10, maxLength: 60, size: 'max' }),
        async (steps) => {
          const flow = new OrderFlow();
          for (const step of steps) await flow.step(step);
          await flow.finish();
          const sent = steps.flatMap((step) => (step.kind === 'sent' ? step.order : []));
          expect(flow.failed).toEqual([]);
          const lists = MACHINES.map((machineId) => flow.service.get(machineId) ?? []);
          expect(lists).toEqual(listsOf(sent));
          expect(new Set(flow.outcomes).size).toBe(flow.outcomes.length);
          expect(flow.outcomes.length).toBeGreaterThanOrEqual(sent.length);
        },
      ),
      { numRuns: 200 * Number(process.env.PROPERTY_DEPTH ?? 1) },
    );
  });
});
