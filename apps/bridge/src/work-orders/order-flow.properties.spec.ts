import fc from 'fast-check';
import { ORDER_STATUSES, type OrderSnapshot } from '#libs/contracts';
import { type OutboundRecord, type OwnedState, type StateChange } from '#libs/messaging';
import {
  type AssignmentChange,
  changeRecords,
  parseAssignmentChanges,
} from './assignments/assignment-change.js';
import { positionInLog, type StoredAssignment } from './assignments/derive-assignments.js';
import { HeldAssignments } from './assignments/held-assignments.js';
import { type ChangeEntry, PartitionAssignments } from './assignments/partition-assignments.js';
import { type KnownOrder } from './orders/known-order.js';
import { type OrderEntry } from './orders/order-entries.js';
import { PartitionOrders } from './orders/partition-orders.js';
import {
  parseRelayReport,
  RELAY_REPORTS,
  type RelayReport,
  reportRecord,
} from './orders/relay-reports.js';
import { parseRelayedOrders, RELAYED_ORDERS, type RelayedOrders } from './orders/relayed-orders.js';
import { sortByHome } from './orders/sorted-message.js';
import { placeOrder } from './orders/place-order.js';
import { type Derivation } from './partition-writer.js';
import { messageAt } from './testing/message-at.js';

const PARTITIONS = [0, 1] as const;
/** Few, so that much happens to each. */
const ORDERS = ['4711', '4712'];
const MACHINES = ['M-1', 'M-2'];
const partitionOf = (ids: readonly string[], id: string): number => ids.indexOf(id) % 2;

const anOrder: fc.Arbitrary<OrderSnapshot> = fc.record({
  orderId: fc.constantFrom(...ORDERS),
  changedAt: fc.nat(2),
  status: fc.constantFrom('released', ...ORDER_STATUSES),
  operations: fc.uniqueArray(
    fc.record({
      operationId: fc.constantFrom('0010', '0020'),
      machineId: fc.constantFrom(...MACHINES),
      status: fc.constantFrom('released', 'held', 'started', 'completed'),
    }),
    { selector: ({ operationId }) => operationId, minLength: 1, maxLength: 2 },
  ),
});

interface Place {
  stage: 'orders' | 'relayed' | 'assignments';
  partition: number;
}

type Step =
  | { kind: 'told'; orders: readonly OrderSnapshot[]; partition: number }
  /** Some messages go through; or Kafka takes them and the process does not hear of it. */
  | ({ kind: 'taken'; count: number; heard: boolean } & Place)
  /** Restored, and the last messages are delivered again. */
  | ({ kind: 'moved'; back: number } & Place)
  /** One is delivered again alone: those behind it had been finished. */
  | ({ kind: 'again'; back: number } & Place);

const place = {
  stage: fc.constantFrom('orders' as const, 'relayed' as const, 'assignments' as const),
  partition: fc.constantFrom(...PARTITIONS),
};

/** One order or two, in a message that may come through any partition. */
const told = {
  kind: fc.constant('told' as const),
  orders: fc.uniqueArray(anOrder, {
    selector: ({ orderId }) => orderId,
    minLength: 1,
    maxLength: 2,
  }),
  partition: fc.constantFrom(...PARTITIONS),
};

const taken = {
  kind: fc.constant('taken' as const),
  count: fc.integer({ min: 1, max: 8 }),
  heard: fc.constantFrom(true, true, true, false),
  ...place,
};

const aStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record(told) },
  { weight: 6, arbitrary: fc.record(taken) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('moved' as const, 'again' as const, 'again' as const),
      back: fc.nat(2),
      ...place,
    }),
  },
);

/** What Kafka holds of one partition: what is to be read, and the state that reading it has led to. */
class StoredPartition<M, V> {
  readonly log: M[] = [];
  readonly values = new Map<string, V>();
  position = 0;

  get state(): OwnedState<V> {
    return {
      partition: 0,
      signal: new AbortController().signal,
      lost: new AbortController().signal,
      get: (key) => this.values.get(key),
      keys: () => this.values.keys(),
      entries: () => this.values.entries(),
      commit: () => Promise.reject(new Error('written by the flow')),
    };
  }

  /** The next messages and their offsets. */
  read(count: number): [message: M, offset: number][] {
    const from = this.position;
    const messages = this.log.slice(from, from + count);
    this.position += messages.length;
    return messages.map((message, index) => [message, from + index]);
  }

  /** One that was read before. */
  readAgain(back: number): [message: M, offset: number][] {
    const offset = this.position - 1 - back;
    const message = this.log[offset];
    return message === undefined ? [] : [[message, offset]];
  }

  write(changes: readonly StateChange<V>[]): void {
    for (const [key, value] of changes) {
      if (value === null) this.values.delete(key);
      else this.values.set(key, value);
    }
  }
}

/** A message of the input. */
interface Told {
  orders: readonly OrderSnapshot[];
  recordedAt: number;
}

/** What a process that owns a partition has of it in memory. */
interface Owner {
  orders: PartitionOrders;
  /** Written as soon as possible. */
  gathered: OrderEntry[];
}

/** The whole way from orders to lists, without Kafka, processes and the service. */
class OrderFlow {
  readonly lists = new Map<string, readonly string[]>();
  /** Offsets of messages that are taken in and not answered, of each partition. */
  readonly open = PARTITIONS.map(() => new Set<number>());
  private messages = 0;
  private readonly inputs = PARTITIONS.map(() => new StoredPartition<Told, KnownOrder>());
  private readonly relayed = PARTITIONS.map(
    () => new StoredPartition<RelayedOrders | RelayReport, never>(),
  );
  private readonly changes = PARTITIONS.map(
    () => new StoredPartition<readonly AssignmentChange[], StoredAssignment>(),
  );
  private readonly owners = PARTITIONS.map((partition) => this.ownerOf(partition));
  private readonly assignments = PARTITIONS.map(() => {
    const assignments: PartitionAssignments = new PartitionAssignments(({ change }) => {
      this.lists.set(change.machineId, assignments.listOf(change.machineId));
    });
    return assignments;
  });

  constructor() {
    for (const partition of PARTITIONS) {
      this.move({ stage: 'orders', partition }, 0);
      this.move({ stage: 'assignments', partition }, 0);
    }
  }

  step(step: Step): void {
    switch (step.kind) {
      case 'told':
        this.messages += 1;
        this.inputs[step.partition]?.log.push({ orders: step.orders, recordedAt: this.messages });
        return;
      case 'taken':
        this.take(step, (stored) => stored.read(step.count), step.heard);
        if (!step.heard) this.restore(step, step.count);
        return;
      case 'again':
        this.take(step, (stored) => stored.readAgain(step.back), true);
        return;
      case 'moved':
        this.move(step, step.back);
        return;
      default:
        step satisfies never;
    }
  }

  finish(): void {
    // there, and back again, and what that leads to
    for (const stage of ['orders', 'relayed', 'relayed', 'assignments'] as const) {
      for (const partition of PARTITIONS) {
        this.take({ stage, partition }, (stored) => stored.read(Infinity), true);
      }
    }
  }

  private ownerOf(partition: number): Owner {
    const gathered: OrderEntry[] = [];
    const orders = new PartitionOrders({
      machineOf: ({ machineId }) => machineId,
      latestSeconds: () => Infinity,
      toChanges: (changes) => changeRecords('', changes, (id) => partitionOf(MACHINES, id)),
      toReport: (report) => reportRecord('', report),
      toOutcome: () => ({ value: null }) as OutboundRecord,
      answer: ({ entry }) => this.open[partition]?.delete(entry.source.offset),
      gathered: (entry) => gathered.push(entry),
    });
    return { orders, gathered };
  }

  /** Another process goes on, from some messages before. */
  private move(place: Place, back: number): void {
    const { partition, stage } = place;
    const input = this.inputs[partition];
    if (stage !== 'assignments' && input !== undefined) {
      this.owners[partition] = this.ownerOf(partition);
      // what is not answered is not committed
      input.position = Math.min(input.position, ...(this.open[partition] ?? []));
      this.restore({ partition, stage: 'orders' }, back);
      this.restore({ partition, stage: 'relayed' }, back);
    } else this.restore(place, back);
  }

  /** The same process reads again what it has written, and the messages before are still to be taken in. */
  private restore({ stage, partition }: Place, back: number): void {
    const [input, relayed] = [this.inputs[partition], this.relayed[partition]];
    const changes = this.changes[partition];
    if (input === undefined || relayed === undefined || changes === undefined) return;
    const stored = { orders: input, relayed, assignments: changes }[stage];
    stored.position = Math.max(0, stored.position - back);
    if (stage === 'assignments') this.assignments[partition]?.restored(changes.state);
    else this.owners[partition]?.orders.restored(input.state);
  }

  private take(
    { stage, partition }: Place,
    read: <M, V>(stored: StoredPartition<M, V>) => [message: M, offset: number][],
    heard: boolean,
  ): void {
    const [input, relayed] = [this.inputs[partition], this.relayed[partition]];
    const [changes, owner] = [this.changes[partition], this.owners[partition]];
    if (!input || !relayed || !changes || !owner) return;
    if (stage === 'assignments') {
      const entries = read(changes).flatMap(([told, offset]) =>
        told.map((change, index): ChangeEntry => {
          const position = positionInLog(offset, index);
          return { message: messageAt(offset, { partition }), position, change };
        }),
      );
      // a transaction may end in the middle of a record
      const written = heard ? entries : entries.slice(0, -1);
      this.commit(changes, this.assignments[partition]?.derive(changes.state, written), heard);
      return;
    }
    const entries =
      stage === 'orders'
        ? read(input).map(([told, offset]) => this.entryOf(told, partition, offset))
        : read(relayed).map(([content, offset]) => relayedEntry(content, partition, offset));
    this.commit(input, owner.orders.derive(input.state, entries), heard);
    const gathered = owner.gathered.splice(0);
    this.commit(input, owner.orders.derive(input.state, gathered), true);
  }

  private entryOf({ orders, recordedAt }: Told, partition: number, offset: number): OrderEntry {
    this.open[partition]?.add(offset);
    const message = messageAt(offset, { partition });
    const source = { topic: 'orders', partition, offset, messageId: null };
    const answered = { message, messageId: null };
    const told = orders.map((order) => ({ kind: 'snapshot' as const, order }));
    const { relay, ...sorted } = sortByHome(
      { answered, source, recordedAt, orders: told },
      homeOf,
      '',
    );
    const position = { partition, offset, recordedAt };
    const entry = { ...sorted, message, position, unknownMachines: new Map() };
    return relay === undefined
      ? { ...entry, kind: 'orders' }
      : { ...entry, ...relay, kind: 'relay' };
  }

  private commit<M, V>(
    stored: StoredPartition<M, V>,
    derivation: Derivation<V> | undefined,
    heard: boolean,
  ): void {
    if (derivation === undefined) return;
    stored.write(derivation.changes);
    for (const { topic, value, partition = -1 } of derivation.records) {
      // An outcome, which leads to no list.
      if (value === null) continue;
      if (topic === RELAYED_ORDERS || topic === RELAY_REPORTS) {
        const parse = topic === RELAYED_ORDERS ? parseRelayedOrders : parseRelayReport;
        const content = parse(Buffer.from(value));
        if (content !== undefined) this.relayed[partition]?.log.push(content);
        continue;
      }
      const changes = parseAssignmentChanges(Buffer.from(value));
      if (changes !== undefined) this.changes[partition]?.log.push(changes);
    }
    if (heard) derivation.conclude();
  }
}

const homeOf = (orderId: string): number => partitionOf(ORDERS, orderId);

function relayedEntry(
  content: RelayedOrders | RelayReport,
  partition: number,
  offset: number,
): OrderEntry {
  const message = messageAt(offset, { partition });
  if ('said' in content) return { kind: 'report', message, report: content };
  const { source, recordedAt } = content;
  const position = { partition: source.partition, offset: source.offset, recordedAt };
  const told = { position, unknownMachines: new Map() };
  return { ...content, ...told, kind: 'part', message };
}

/** The lists that follow from the newest of each order, the later one of equals. */
function listsOf(history: readonly OrderSnapshot[]): (readonly string[])[] {
  const newest = new Map<string, OrderSnapshot>();
  for (const order of history) {
    if (order.changedAt >= (newest.get(order.orderId)?.changedAt ?? 0)) {
      newest.set(order.orderId, order);
    }
  }
  const table = new HeldAssignments();
  for (const order of newest.values()) {
    for (const [machineId, operations] of placeOrder(order, (each) => each.machineId).machines) {
      table.assign(machineId, { orderId: order.orderId, operations });
    }
  }
  return MACHINES.map((machineId) => table.listOf(machineId));
}

describe('any history of orders, with restarts, redeliveries and writes nobody heard of', () => {
  it('ends in the lists that follow from the newest of each order, whichever partition it came through', () => {
    fc.assert(
      fc.property(fc.array(aStep, { maxLength: 60, size: 'max' }), (steps) => {
        const flow = new OrderFlow();
        for (const step of steps) flow.step(step);
        flow.finish();
        const told = steps.flatMap((step) => (step.kind === 'told' ? step.orders : []));
        expect(MACHINES.map((machineId) => flow.lists.get(machineId) ?? [])).toEqual(listsOf(told));
        expect(flow.open.map(({ size }) => size)).toEqual([0, 0]);
      }),
      { numRuns: 2000 },
    );
  });
});
