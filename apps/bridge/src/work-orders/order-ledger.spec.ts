import fc from 'fast-check';
import { ORDER_STATUSES, type OrderOperation, type OrderSnapshot } from '#libs/contracts';
import { type LedgerChange, OrderLedger } from './order-ledger.js';

const MACHINES = ['M-1', 'M-2', 'M-3'];
const machineOf = ({ machineId }: OrderOperation): string | undefined => machineId;

function operation(operationId: string, more: Partial<OrderOperation> = {}): OrderOperation {
  return { operationId, machineId: 'M-1', status: 'released', ...more };
}

function order(
  orderId: string,
  operations: OrderOperation[],
  more: Partial<OrderSnapshot> = {},
): OrderSnapshot {
  return { orderId, changedAt: 100, status: 'released', operations, ...more };
}

function ledgerOf(...snapshots: OrderSnapshot[]): OrderLedger {
  const ledger = new OrderLedger();
  for (const snapshot of snapshots) ledger.record(snapshot, machineOf);
  return ledger;
}

function listsOf(ledger: OrderLedger): string[][] {
  return MACHINES.map((machineId) => ledger.listOf(machineId));
}

describe("OrderLedger: a machine's list", () => {
  it('is empty while no order is known', () => {
    expect(new OrderLedger().listOf('M-1')).toEqual([]);
  });

  it.each(ORDER_STATUSES)('holds an operation by its status: %s', (status) => {
    const isListed = ['released', 'started', 'held'].includes(status);
    const ledger = ledgerOf(order('4711', [operation('0010', { status })]));
    expect(ledger.listOf('M-1')).toEqual(isListed ? ['4711'] : []);
  });

  it.each(['completed', 'cancelled'] as const)(
    'loses an order that is %s, whatever its operations still say',
    (status) => {
      const ledger = ledgerOf(
        order('4711', [operation('0010')]),
        order('4711', [operation('0010')], { changedAt: 101, status }),
      );
      expect(ledger.listOf('M-1')).toEqual([]);
    },
  );

  it('names the order, and its operations where the order has several on the machine', () => {
    const ledger = ledgerOf(
      order('4711', [
        operation('0010', { sequence: 1 }),
        operation('0020', { sequence: 2 }),
        operation('0030', { sequence: 3, machineId: 'M-2' }),
      ]),
      order('4712', [operation('0010', { sequence: 4 })]),
    );
    expect(ledger.listOf('M-1')).toEqual(['4711-0010', '4711-0020', '4712']);
    expect(ledger.listOf('M-2')).toEqual(['4711']);
  });

  it('goes by sequence, 0 or none last, then planned start, none last, then order and operation', () => {
    const ledger = ledgerOf(
      order('F', [operation('0010')]),
      order('E', [operation('0020', { sequence: 0 }), operation('0010', { sequence: 0 })]),
      order('D', [operation('0010', { plannedStart: 900 })]),
      order('C', [operation('0010', { sequence: 2 })]),
      order('B', [operation('0010', { sequence: 2, plannedStart: 200 })]),
      order('A', [operation('0010', { sequence: 10, plannedStart: 1 })]),
      order('G', [operation('0010', { sequence: 2, plannedStart: 100 })]),
    );
    expect(ledger.listOf('M-1')).toEqual(['G', 'B', 'C', 'A', 'D', 'E-0010', 'E-0020', 'F']);
  });
});

describe('OrderLedger: a snapshot', () => {
  it('moves an order: it leaves the old machine, and both lists are touched', () => {
    const ledger = ledgerOf(order('4711', [operation('0010')]), order('4712', [operation('0010')]));
    const moved = order('4711', [operation('0010', { machineId: 'M-2' })], { changedAt: 101 });
    expect(ledger.record(moved, machineOf)).toEqual<LedgerChange>({
      kind: 'recorded',
      machineIds: ['M-1', 'M-2'],
      unmapped: [],
    });
    expect(listsOf(ledger)).toEqual([['4712'], ['4711'], []]);
  });

  it('is superseded when it is older than what is known, and changes nothing', () => {
    const ledger = ledgerOf(order('4711', [operation('0010')]));
    const older = order('4711', [operation('0010', { machineId: 'M-2' })], { changedAt: 99 });
    expect(ledger.record(older, machineOf)).toEqual<LedgerChange>({
      kind: 'superseded',
      machineIds: ['M-2'],
      knownChangedAt: 100,
    });
    expect(listsOf(ledger)).toEqual([['4711'], [], []]);
  });

  it('is applied again when it is as old as what is known: a message is delivered at least once', () => {
    const ledger = ledgerOf(order('4711', [operation('0010')]));
    const again = order('4711', [operation('0010')]);
    const change = { kind: 'recorded', machineIds: ['M-1'], unmapped: [] };
    expect(ledger.record(again, machineOf)).toEqual(change);
    expect(listsOf(ledger)).toEqual([['4711'], [], []]);
  });

  it('names the operations that have no machine and lists the others', () => {
    const astray = operation('0020', { workCentre: 'FR01' });
    delete astray.machineId;
    const ledger = new OrderLedger();
    expect(ledger.record(order('4711', [operation('0010'), astray]), machineOf)).toEqual({
      kind: 'recorded',
      machineIds: ['M-1'],
      unmapped: [astray],
    });
    expect(ledger.listOf('M-1')).toEqual(['4711']);
  });

  it('needs no machine for an operation that stands on no list', () => {
    const planned: OrderOperation = { operationId: '0010', workCentre: 'FR01', status: 'planned' };
    expect(new OrderLedger().record(order('4711', [planned]), machineOf)).toEqual({
      kind: 'recorded',
      machineIds: [],
      unmapped: [],
    });
  });
});

describe('OrderLedger: a finished order', () => {
  const finished = (orderId: string): OrderSnapshot =>
    order(orderId, [operation('0010')], { status: 'completed' });
  const outdated = order('4711', [operation('0010')], { changedAt: 99 });

  it.each([
    ['completed', finished('4711')],
    ['without an operation left', order('4711', [operation('0010', { status: 'cancelled' })])],
  ])('takes no room once it is %s, and its machine none without it', (_, last) => {
    const ledger = ledgerOf(order('4711', [operation('0010')]));
    expect(ledger.size).toEqual({ orders: 1, machines: 1 });
    ledger.record(last, machineOf);
    expect(ledger.size).toEqual({ orders: 0, machines: 0 });
  });

  it('is not brought back by an older message, only by a newer one', () => {
    const ledger = ledgerOf(finished('4711'));
    expect(ledger.record(outdated, machineOf)).toMatchObject({
      kind: 'superseded',
      knownChangedAt: 100,
    });
    ledger.record(order('4711', [operation('0010')], { changedAt: 101 }), machineOf);
    expect(ledger.listOf('M-1')).toEqual(['4711']);
    expect(ledger.record(outdated, machineOf)).toMatchObject({ knownChangedAt: 101 });
  });

  it('is remembered until 50,000 others have been finished since', () => {
    const ledger = ledgerOf(finished('4711'), finished('4712'), finished('4711'));
    for (let more = 0; more < 49_999; more += 1) ledger.record(finished(`X-${more}`), machineOf);
    expect(ledger.record(outdated, machineOf).kind).toBe('superseded');
    ledger.record(finished('X'), machineOf);
    expect(ledger.record(outdated, machineOf).kind).toBe('recorded');
  });
});

const anyOperations = fc.uniqueArray(
  fc.record({
    operationId: fc.constantFrom('0010', '0020', '0030'),
    machineId: fc.constantFrom(...MACHINES),
    status: fc.constantFrom(...ORDER_STATUSES),
    sequence: fc.nat(2),
  }),
  { selector: ({ operationId }) => operationId, maxLength: 3 },
);

const anySnapshot: fc.Arbitrary<OrderSnapshot> = fc.record({
  orderId: fc.constantFrom('4711', '4712', '4713'),
  changedAt: fc.nat(5),
  status: fc.constantFrom(...ORDER_STATUSES),
  operations: anyOperations,
});

/** Several orders' snapshots, and the same ones interleaved otherwise: those of one order keep theirs. */
const twoInterleavings = fc.array(anySnapshot, { maxLength: 12 }).chain((one) =>
  fc.shuffledSubarray(one, { minLength: one.length }).map((places) => {
    const rest = [...one];
    const other = places.flatMap(({ orderId }) => {
      const next = rest.findIndex((snapshot) => snapshot.orderId === orderId);
      return rest.splice(next, 1);
    });
    return { one, other };
  }),
);

describe('OrderLedger: any history', () => {
  it('ends in the same lists, however the snapshots of different orders are interleaved', () => {
    fc.assert(
      fc.property(twoInterleavings, ({ one, other }) => {
        expect(listsOf(ledgerOf(...other))).toEqual(listsOf(ledgerOf(...one)));
      }),
    );
  });

  it('leaves nothing behind but the newest snapshot of each order, the later one of equals', () => {
    fc.assert(
      fc.property(fc.array(anySnapshot, { maxLength: 12 }), (history) => {
        const newest = new Map<string, OrderSnapshot>();
        for (const snapshot of history) {
          const known = newest.get(snapshot.orderId);
          if (snapshot.changedAt >= (known?.changedAt ?? 0)) newest.set(snapshot.orderId, snapshot);
        }
        expect(listsOf(ledgerOf(...history))).toEqual(listsOf(ledgerOf(...newest.values())));
      }),
    );
  });

  it('names every machine whose list has changed', () => {
    fc.assert(
      fc.property(fc.array(anySnapshot, { maxLength: 12 }), (history) => {
        const ledger = new OrderLedger();
        for (const snapshot of history) {
          const before = listsOf(ledger);
          const { kind, machineIds } = ledger.record(snapshot, machineOf);
          const after = listsOf(ledger);
          const changed = MACHINES.filter(
            (_, index) => before[index]?.join() !== after[index]?.join(),
          );
          expect(kind === 'recorded' ? machineIds : []).toEqual(expect.arrayContaining(changed));
        }
      }),
    );
  });
});
