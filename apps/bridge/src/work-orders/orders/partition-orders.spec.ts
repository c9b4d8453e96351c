import { type OrderSnapshot } from '#libs/contracts';
import { type OwnedState } from '#libs/messaging';
import { messageAt } from '../testing/message-at.js';
import { type KnownOrder } from './known-order.js';
import { type OrderAnswer } from './derived-entries.js';
import { type OrderEntry, type OrdersEntry } from './order-entries.js';
import { PartitionOrders } from './partition-orders.js';

const REMEMBERED = 50_000;
const LATER = { position: { partition: 0, offset: 8, recordedAt: 8 } };

describe('PartitionOrders', () => {
  let known: Map<string, KnownOrder>;
  let answers: OrderAnswer[];
  let orders: PartitionOrders;
  let latestSeconds: number;

  beforeEach(() => {
    [known, answers] = [new Map<string, KnownOrder>(), []];
    latestSeconds = Infinity;
    orders = new PartitionOrders({
      machineOf: ({ machineId }) => machineId,
      latestSeconds: () => latestSeconds,
      toChanges: (changes) =>
        changes.map(({ machineId, orders: changed, isPart }) => ({
          ...{ topic: 'changes', key: machineId, headers: {} },
          value: changed.map(({ orderId }) => orderId).join() + (isPart ? ', untold' : ''),
        })),
      toReport: () => ({ topic: 'relayed', key: null, value: 'report', headers: {} }),
      toOutcome: (_answered, { kind }) => {
        return { topic: 'outcomes', key: null, value: kind, headers: {} };
      },
      answer: (answer) => answers.push(answer),
      gathered: () => undefined,
    });
  });

  const state = (): OwnedState<KnownOrder> => ({
    partition: 0,
    signal: new AbortController().signal,
    lost: new AbortController().signal,
    get: (key) => known.get(key),
    keys: () => known.keys(),
    entries: () => known.entries(),
    commit: () => Promise.resolve(),
  });

  const entry = (
    orderId: string,
    status: OrderSnapshot['status'],
    changedAt = 100,
    operations = [{ operationId: '0010', machineId: 'M-1', status }],
  ): OrderEntry => {
    const message = messageAt(7);
    const source = { topic: 'orders', partition: 0, offset: 7, messageId: null };
    return {
      ...{ kind: 'orders', message, source, answered: { message, messageId: null } },
      position: { partition: 0, offset: 7, recordedAt: 0 },
      orders: [{ kind: 'snapshot', order: { orderId, changedAt, status, operations } }],
      unknownMachines: new Map(),
    };
  };

  /** Writes what follows, as Kafka would. */
  const write = (...entries: OrderEntry[]): string[] => {
    const { changes, records, conclude } = orders.derive(state(), entries);
    for (const [orderId, order] of changes) {
      if (order === null) known.delete(orderId);
      else known.set(orderId, order);
    }
    conclude();
    return records.map(({ key, value }) => `${String(key)}: ${String(value)}`);
  };

  it('judges each message by those before it in the same transaction', () => {
    const records = write(entry('4711', 'released', 101), entry('4711', 'released', 100));
    expect(records).toEqual(['M-1: 4711']);
    expect(answers.map(({ assigned, results }) => [assigned, results.length])).toEqual([
      [1, 0],
      [0, 1],
    ]);
  });

  describe('of a message that comes again', () => {
    const again = (recordedAt: number, more: Partial<OrderEntry> = {}): OrderEntry => {
      const position = { partition: 0, offset: 7, recordedAt };
      return { ...entry('4711', 'released'), ...more, position } as OrderEntry;
    };

    it('sets the lists again and tells nothing: what was written first is answered', () => {
      expect(write(again(5))).toEqual(['M-1: 4711']);
      expect(write(again(5))).toEqual(['M-1: 4711, untold']);
    });

    it('tells nothing either where the order has changed since', () => {
      write(again(5));
      write({ ...(entry('4711', 'started', 101) as OrdersEntry), ...LATER });
      expect(write(again(5))).toEqual(['M-1: 4711, untold']);
      // another one, in a topic made anew
      expect(write(again(9))).toEqual(['M-1: 4711']);
    });

    it('tells of another that lies where it has lain, in a topic made anew', () => {
      write(again(5));
      expect(write(again(6))).toEqual(['M-1: 4711']);
    });

    it('tells of an order that was refused when it came first, beside one that was not', () => {
      const change = { kind: 'change', order: { orderId: '4712', changedAt: 200 } } as const;
      const [first] = (again(5) as OrdersEntry).orders;
      const both = again(5, { orders: [first!, change] });
      expect(write(both)).toEqual(['M-1: 4711']);
      write({ ...(entry('4712', 'released') as OrdersEntry), ...LATER });
      expect(write(both)).toEqual(['M-1: 4711,4712']);
    });

    it('tells of a machine that was not known when it came first', () => {
      const rejection = { code: 'unknown-machine', detail: 'not listed' } as const;
      const unknownMachines = new Map([['M-1', rejection]]);
      expect(write(again(5, { unknownMachines }))).toEqual([]);
      expect(write(again(5))).toEqual(['M-1: 4711']);
    });
  });

  it('writes what a message that concerns no machine is answered with, and says nothing else of it', () => {
    expect(write(entry('4711', 'planned', 101, []))).toEqual(['null: applied']);
    expect(answers).toMatchObject([
      { assigned: 0, results: [], withoutMachine: { kind: 'applied' } },
    ]);
  });

  it('leaves what it is answered with to its offset where nothing of it is in the ledger', () => {
    const change = { kind: 'change', order: { orderId: '4711', changedAt: 1 } } as const;
    const superseding = entry('4711', 'planned', 101, []) as OrdersEntry;
    expect(write(superseding)).toEqual(['null: applied']);
    const older = { ...superseding, ...LATER, orders: [change] };
    expect(write(older)).toEqual([]);
    expect(answers.at(-1)).toMatchObject({
      withoutMachine: { kind: 'superseded' },
      records: [{ topic: 'outcomes', value: 'superseded' }],
    });
  });

  it('leaves what a message changes whose parts have all been reported to its offset', () => {
    const { message, source, answered } = entry('4711', 'released') as OrdersEntry;
    const said = { machineIds: ['M-1', 'M-2'], results: [], unmapped: [], standings: [] };
    expect(write({ kind: 'gathered', message, source, answered, said })).toEqual([]);
    expect(answers).toMatchObject([
      { assigned: 2, withoutMachine: undefined, records: [{ key: 'M-1' }, { key: 'M-2' }] },
    ]);
  });

  it('says nothing before it is written', () => {
    orders.derive(state(), [entry('4711', 'released')]);
    expect(answers).toEqual([]);
  });

  it('does not believe a change that no clock can have shown yet: of two messages the later is the newer', () => {
    const at = (offset: number, status: OrderSnapshot['status'], changedAt: number) => ({
      ...(entry('4711', status, changedAt) as OrdersEntry),
      position: { partition: 0, offset, recordedAt: offset },
    });
    // as an earlier version took it
    write(at(7, 'released', 5000));
    latestSeconds = 1000;
    expect(orders.restored(state())).toEqual(['4711']);
    write(at(6, 'started', 999));
    expect(known.get('4711')).toMatchObject({ status: 'released', changedAt: 5000 });
    write(at(8, 'started', 900));
    expect(known.get('4711')).toMatchObject({ status: 'started', changedAt: 900 });
    expect(orders.restored(state())).toEqual([]);
  });

  it('forgets the finished orders that changed longest ago, with the next ones that are written', () => {
    for (let age = 0; age < REMEMBERED; age += 1) {
      const from = { partition: 0, offset: 1, recordedAt: 0 };
      const finished = { from, status: 'completed', operations: [], machineIds: [] } as const;
      known.set(`old-${age}`, { ...finished, operations: [], changedAt: REMEMBERED - age });
    }
    orders.restored(state());
    write(entry('X', 'completed'));
    expect(known.size).toBe(REMEMBERED + 1);
    write(entry('Y', 'released'));
    expect(known.has(`old-${REMEMBERED - 1}`)).toBe(false);
    expect(known.has('old-0')).toBe(true);
    write(entry('X', 'released', 101), entry('Z', 'released'));
    expect(known.get('X')?.status).toBe('released');
    expect(known.size).toBe(REMEMBERED + 2);
  });
});
