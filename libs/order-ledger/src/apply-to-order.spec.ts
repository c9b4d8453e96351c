import fc from 'fast-check';
import {
  ORDER_STATUSES,
  type OrderChange,
  type OrderMessage,
  type OrderOperation,
  type OrderSnapshot,
} from '#libs/contracts';
import { AssignmentTable } from './assignment-table.js';
import type { KnownOrder } from './known-order.js';
import { type OrderFinding, applyToOrder } from './apply-to-order.js';

const MACHINES = ['M-1', 'M-2', 'M-3'];
const machineOf = ({ machineId }: OrderOperation): string | undefined => machineId;

class Ledger {
  readonly orders = new Map<string, KnownOrder>();
  readonly table = AssignmentTable.inMemory();
  private offset = 0;

  take(snapshot: OrderSnapshot, refused: readonly string[] = []): Taken {
    return this.takeIn([{ kind: 'snapshot', order: snapshot }], undefined, undefined, refused);
  }

  takeIn(
    messages: readonly OrderMessage[],
    offset = this.offset + 1,
    position = { partition: 0, recordedAt: offset },
    refused: readonly string[] = [],
  ): Taken {
    this.offset = Math.max(this.offset, offset);
    const { orderId } = messages[0]!.order;
    const arrived = { messages, position: { ...position, offset }, refused };
    const { known, assignments, findings } = applyToOrder(
      arrived,
      this.orders.get(orderId),
      machineOf,
    );
    if (known !== undefined) this.orders.set(orderId, known);
    for (const [machineId, operations] of assignments) {
      this.table.assign(machineId, orderId, operations);
    }
    return { touched: [...assignments.keys()], findings };
  }

  listOf(machineId: string): readonly string[] {
    return this.table.listOf(machineId);
  }
}

interface Taken {
  touched: string[];
  findings: readonly OrderFinding[];
}

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

function ledgerOf(...snapshots: OrderSnapshot[]): Ledger {
  const ledger = new Ledger();
  for (const snapshot of snapshots) ledger.take(snapshot);
  return ledger;
}

function listsOf(ledger: Ledger): (readonly string[])[] {
  return MACHINES.map((machineId) => ledger.listOf(machineId));
}

describe("a machine's list of orders", () => {
  it.each(ORDER_STATUSES)('holds an operation by its status: %s', (status) => {
    const isListed = ['released', 'started', 'held'].includes(status);
    const ledger = ledgerOf(order('4711', [operation('0010', { status })]));
    expect(ledger.listOf('M-1')).toEqual(isListed ? ['4711'] : []);
  });

  it('names the order, and its operations if the order has several on the machine', () => {
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

  it('is sorted by sequence, 0 or none last, planned start, none last, order and operation', () => {
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

function change(more: Partial<OrderChange>): OrderMessage {
  return { kind: 'change', order: { orderId: '4711', changedAt: 101, ...more } };
}

const whole = (snapshot: OrderSnapshot): OrderMessage => ({ kind: 'snapshot', order: snapshot });

describe('a change of an order', () => {
  it('is merged into the known order, and affects its machines', () => {
    const ledger = ledgerOf(order('4711', [operation('0010'), operation('0020')]));
    const operations = [{ operationId: '0010', status: 'completed' as const }];
    expect(ledger.takeIn([change({ operations })])).toMatchObject({ touched: ['M-1'] });
    expect(ledger.listOf('M-1')).toEqual(['4711-0020']);
    expect(ledger.takeIn([change({ status: 'completed' })])).toMatchObject({ touched: ['M-1'] });
    expect(ledger.listOf('M-1')).toEqual([]);
  });

  it('is superseded by a newer version, for the machines of the order', () => {
    const ledger = ledgerOf(order('4711', [operation('0010')], { changedAt: 102 }));
    const { touched, findings } = ledger.takeIn([change({ status: 'cancelled' })]);
    expect(touched).toEqual([]);
    expect(findings).toMatchObject([{ kind: 'superseded', machineId: 'M-1' }]);
    expect(ledger.listOf('M-1')).toEqual(['4711']);
  });

  it('is compared by the sender’s count before the time', () => {
    const fence = (value: string) => ({ fence: { counter: 'SERIAL', value } });
    const ledger = ledgerOf(order('4711', [operation('0010')], fence('11')));
    const { findings } = ledger.take(
      order('4711', [operation('0010')], { changedAt: 200, ...fence('9') }),
    );
    expect(findings).toMatchObject([{ detail: 'order 4711 came with SERIAL 9; known is 11' }]);
  });

  it('sent earlier in the same second through another partition is superseded', () => {
    const ledger = ledgerOf(order('4711', [operation('0010')]));
    ledger.takeIn([change({ status: 'completed' })], 9, { partition: 1, recordedAt: 1500 });
    const late = [change({ status: 'started' })];
    expect(ledger.takeIn(late, 4, { partition: 2, recordedAt: 1200 })).toMatchObject({
      ...{ touched: [], findings: [{ kind: 'superseded', machineId: null }] },
    });
    expect(ledger.orders.get('4711')?.status).toBe('completed');
  });
});

describe('a change of an unknown order that names only done operations', () => {
  const done = { operationId: '0010', machineId: 'M-1', status: 'completed' as const };

  it('affects their machines, and leaves the order unknown', () => {
    const ledger = new Ledger();
    const { touched, findings } = ledger.takeIn([change({ changedAt: 200, operations: [done] })]);
    expect([touched, findings]).toEqual([['M-1'], []]);
    expect(ledger.orders.size).toBe(0);
    ledger.take(order('4711', [operation('0020')], { changedAt: 100 }));
    expect(ledger.listOf('M-1')).toEqual(['4711']);
  });
});

describe('a snapshot of an order', () => {
  const onFirst = order('4711', [operation('0010')]);
  const onSecond = order('4711', [operation('0010', { machineId: 'M-2' })]);

  it.each<[string, number[], number[], number, boolean]>([
    ['sent before what is known, in the same second', [0, 1, 1], [0, 0, 0], 100, false],
    ['of a topic that has been made anew, and newer', [0, 2, 2], [0, 1, 60_002], 101, true],
    ['of a topic that has been made anew, and as old', [0, 2, 2], [0, 1, 60_002], 100, true],
    ['as old, and recorded later in another partition', [0, 9, 4], [1, 1, 5], 100, true],
    ['as old, and recorded earlier in another partition', [0, 9, 4], [1, 1, 3], 100, false],
    ['newer, and recorded earlier in another partition', [0, 9, 4], [1, 1, 3], 101, true],
  ])('%s: partition, offset and time %j, then %j, and changed at %i', (_, ...row) => {
    const [first, second, changedAt, counts] = row;
    const ledger = new Ledger();
    const take = (order: OrderSnapshot, [partition = 0, offset, recordedAt = 0]: number[]) =>
      ledger.takeIn([whole(order)], offset, { partition, recordedAt }).findings;
    take(onFirst, first);
    const superseded = { kind: 'superseded', machineId: 'M-2' };
    expect(take({ ...onSecond, changedAt }, second)).toMatchObject(counts ? [] : [superseded]);
    expect(listsOf(ledger)).toEqual(counts ? [[], ['4711'], []] : [['4711'], [], []]);
  });

  it('is put on no machine that was rejected when it was read', () => {
    const ledger = new Ledger();
    const both = order('4711', [operation('0010'), operation('0020', { machineId: 'M-2' })]);
    expect(ledger.take(both, ['M-2'])).toEqual({ touched: ['M-1'], findings: [] });
    expect(ledger.orders.get('4711')?.machineIds).toEqual(['M-1']);
  });

  it('is removed from a machine that was rejected when it was read', () => {
    const ledger = ledgerOf(onFirst);
    const { touched } = ledger.take({ ...onSecond, changedAt: 101 }, ['M-1']);
    expect(touched).toEqual(['M-1', 'M-2']);
    expect(ledger.listOf('M-1')).toEqual([]);
  });

  it('may be in a document twice: the later one counts, and a machine gets one outcome', () => {
    const ledger = ledgerOf(onFirst);
    const messages = [{ ...onFirst, changedAt: 99 }, onFirst, onSecond].map(whole);
    expect(ledger.takeIn(messages)).toEqual({ touched: ['M-1', 'M-2'], findings: [] });
    expect(listsOf(ledger)).toEqual([[], ['4711'], []]);
  });

  it('may be in a document ten thousand times, each older and for another machine, in good time', () => {
    const messages = Array.from({ length: 10_000 }, (_, index) => {
      const operations = [operation('0010', { machineId: `M-${index}` })];
      return whole(order('4711', operations, { changedAt: 99 }));
    });
    const ledger = ledgerOf(order('4711', []));
    const before = process.cpuUsage();
    const { findings } = ledger.takeIn(messages);
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(2500);
    expect(findings).toHaveLength(10_000);
  });

  describe('of ten thousand operations', () => {
    const operations = Array.from({ length: 10_000 }, (_, index) => operation(`${index}`));
    const large = order('4711', operations);
    const held = change({ changedAt: 100, status: 'held' });
    const repeated = (times: number): OrderMessage[] => [
      whole(large),
      ...Array<OrderMessage>(times).fill(held),
    ];

    it('is applied if a document repeats it a few times', () => {
      const ledger = new Ledger();
      expect(ledger.takeIn(repeated(50))).toEqual({ touched: ['M-1'], findings: [] });
      expect(ledger.orders.get('4711')?.status).toBe('held');
    });

    it.each([
      ['by the same document', new Ledger(), repeated(2000)],
      ['by one before', ledgerOf(large), repeated(2000).slice(1)],
    ])(
      'is rejected if a document repeats it too often, with its operations named %s',
      (_, ledger, all) => {
        const before = process.cpuUsage();
        const { touched, findings } = ledger.takeIn(all);
        expect(process.cpuUsage(before).user / 1000).toBeLessThan(2500);
        expect(findings).toMatchObject([{ kind: 'rejected', rejection: { code: 'too-large' } }]);
        expect({ touched, status: ledger.orders.get('4711')?.status }).not.toMatchObject({
          status: 'held',
        });
      },
    );
  });
});

describe('a message that affects no machine', () => {
  const planned: OrderOperation = { operationId: '0010', workCentre: 'FR01', status: 'planned' };
  const onFirst = order('4711', [operation('0010')]);
  const older = order('4711', [], { changedAt: 99 });

  it.each([
    ['a new order without operations', order('4711', [])],
    ['a planned one', order('4711', [planned])],
    ['one that is over before anybody has heard of it', order('4711', [], { status: 'cancelled' })],
  ])('is taken in: %s', (_name, snapshot) => {
    expect(new Ledger().take(snapshot)).toEqual({ touched: [], findings: [{ kind: 'taken-in' }] });
  });

  it('is superseded if it is older', () => {
    const detail = 'order 4711 changed at 99; known is the change of 100';
    const { findings } = ledgerOf(onFirst).take(older);
    expect(findings).toEqual([{ kind: 'superseded', machineId: null, detail }]);
  });

  it('is applied if a document has the order twice, older and newer', () => {
    const messages = [older, order('4711', [])].map(whole);
    const ledger = ledgerOf(order('4711', [planned]));
    expect(ledger.takeIn(messages).findings).toEqual([{ kind: 'taken-in' }]);
  });
});

describe('an order at an unmapped work centre', () => {
  const place: OrderOperation = { operationId: '0010', workCentre: 'FR01', status: 'released' };
  const found = (wasUnmapped: boolean): readonly OrderFinding[] => {
    const messages = [whole(order('4711', [place]))];
    const position = { partition: 0, offset: 1, recordedAt: 1 };
    return applyToOrder({ messages, position, wasUnmapped }, undefined, machineOf).findings;
  };

  it('is rejected with a change, by its known place', () => {
    const ledger = ledgerOf(order('4711', [{ ...place, status: 'planned' }]));
    const operations = [{ operationId: '0010', status: 'released' as const }];
    expect(ledger.takeIn([change({ operations })]).findings).toMatchObject([
      { kind: 'rejected', rejection: { code: 'unmapped-work-centre' }, unmapped: [place] },
    ]);
  });

  it('is rejected if the work centre was mapped when it was read', () => {
    const detail =
      'no machine is mapped for plant/work centre ?/FR01 of order 4711, ' +
      'which names no plant: its work centre has to be that of one plant alone';
    const rejection = { code: 'unmapped-work-centre', detail };
    expect(found(false)).toMatchObject([{ kind: 'rejected', rejection, unmapped: [place] }]);
  });

  it('is not rejected again', () => {
    expect(found(true)).toEqual([{ kind: 'taken-in' }]);
  });
});

describe('a finished order', () => {
  const finished = (orderId: string): OrderSnapshot =>
    order(orderId, [operation('0010')], { status: 'completed' });

  it.each([
    ['completed', finished('4711')],
    ['without an operation left', order('4711', [operation('0010', { status: 'cancelled' })])],
  ])('keeps nothing but its time once it is %s, and its machine none without it', (_, last) => {
    const ledger = ledgerOf(order('4711', [operation('0010')]));
    expect(ledger.table.size).toBe(1);
    expect(ledger.take(last)).toEqual({ touched: ['M-1'], findings: [] });
    expect(ledger.orders.get('4711')).toMatchObject({ operations: [], machineIds: [] });
    expect(ledger.table.size).toBe(0);
  });
});

describe('a reopened order', () => {
  const completed = (operationId: string) => ({ operationId, status: 'completed' as const });

  it('must be sent as a whole if it ended by its status alone', () => {
    const ledger = ledgerOf(order('4711', [operation('0010')]));
    ledger.takeIn([change({ status: 'completed' })]);
    expect(ledger.listOf('M-1')).toEqual([]);
    const { touched, findings } = ledger.takeIn([change({ changedAt: 102, status: 'released' })]);
    const detail = expect.stringContaining('send the whole order again') as string;
    const rejection = { code: 'invalid-message', detail };
    expect([touched, findings]).toMatchObject([[], [{ kind: 'rejected', rejection }]]);
    ledger.take(order('4711', [operation('0010')], { changedAt: 102 }));
    expect(ledger.listOf('M-1')).toEqual(['4711']);
  });

  it.each<[string, Partial<OrderChange>]>([
    ['its operations', { operations: ['0010', '0020'].map((id) => completed(id)) }],
    ['a status', { status: 'completed' }],
  ])('has the name on its list that it had before it ended with %s', (_, end) => {
    const others = [operation('0030', { machineId: 'M-2' })];
    const ledger = ledgerOf(order('4711', [operation('0010'), operation('0020'), ...others]));
    expect(ledger.listOf('M-1')).toEqual(['4711-0010', '4711-0020']);
    ledger.takeIn([change({ operations: others.map((each) => completed(each.operationId)) })]);
    ledger.takeIn([change({ changedAt: 102, ...end })]);
    ledger.takeIn([change({ changedAt: 103, status: 'completed' })]);
    expect([ledger.listOf('M-1'), ledger.listOf('M-2')]).toEqual([[], []]);
    const again = [operation('0020', { status: 'started' })];
    ledger.takeIn([change({ changedAt: 104, status: 'started', operations: again })]);
    expect([ledger.listOf('M-1'), ledger.listOf('M-2')]).toEqual([['4711-0020'], []]);
    ledger.takeIn([
      change({ changedAt: 105, operations: [operation('0010', { machineId: 'M-2' })] }),
    ]);
    expect([ledger.listOf('M-1'), ledger.listOf('M-2')]).toEqual([['4711'], ['4711']]);
  });

  it('has the fields of the change, and no place that it replaces', () => {
    const at = (workCentre: string): OrderOperation => {
      return { operationId: `10/${workCentre}`, machineId: 'M-1', workCentre, status: 'released' };
    };
    const ledger = ledgerOf(order('4711', [at('A'), at('B')]));
    ledger.takeIn([change({ status: 'completed' })]);
    const moved = { operationId: '10', machineId: 'M-1', workCentre: 'C' };
    ledger.takeIn([
      change({ changedAt: 102, status: 'started', operations: [moved], replaces: ['10'] }),
    ]);
    expect(ledger.listOf('M-1')).toEqual(['4711']);
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

describe('any history of orders', () => {
  it('leaves only the newest snapshot of each order, the later one of equals', () => {
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
        const ledger = new Ledger();
        for (const snapshot of history) {
          const before = listsOf(ledger);
          const { touched } = ledger.take(snapshot);
          const after = listsOf(ledger);
          const changed = MACHINES.filter(
            (_, index) => before[index]?.join() !== after[index]?.join(),
          );
          expect(touched).toEqual(expect.arrayContaining(changed));
        }
      }),
    );
  });
});
