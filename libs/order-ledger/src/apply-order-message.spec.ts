import fc from 'fast-check';

import {
  isFinishedStatus,
  type OperationChange,
  ORDER_STATUSES,
  type OrderChange,
  type OrderMessage,
  type OrderOperation,
  type OrderSnapshot,
  type OrderStatus,
} from '#libs/contracts';
import { applyOrderMessage, type OrderApplication } from './apply-order-message.js';

function operation(operationId: string, more: Partial<OrderOperation> = {}): OrderOperation {
  return { operationId, workCentre: 'FR01', plant: '1000', status: 'released', ...more };
}
function order(operations: OrderOperation[], more: Partial<OrderSnapshot> = {}): OrderSnapshot {
  return { orderId: '4711', changedAt: 100, status: 'released', operations, ...more };
}
const whole = (snapshot: OrderSnapshot): OrderMessage => ({ kind: 'snapshot', order: snapshot });
const change = (more: Partial<OrderChange>): OrderMessage => ({
  kind: 'change',
  order: { orderId: '4711', changedAt: 101, ...more },
});
function orderAfter(application: OrderApplication): OrderSnapshot {
  if (application.kind !== 'applied') throw new Error(application.kind);
  return application.order;
}
const KNOWN = order([operation('0010'), operation('0020', { status: 'completed' })]);

describe('a whole order', () => {
  it('is superseded if it is older, like a change, and applied again if it is as old', () => {
    const older = whole(order([], { changedAt: 99 }));
    for (const message of [older, change({ changedAt: 99, status: 'cancelled' })]) {
      expect(applyOrderMessage(KNOWN, message)).toEqual({ kind: 'superseded', known: KNOWN });
    }
    expect(applyOrderMessage(KNOWN, whole(KNOWN))).toEqual({ kind: 'applied', order: KNOWN });
  });
});

describe('the count of a sender', () => {
  const counted = (value: string, changedAt: number, counter = 'SERIAL of A'): OrderSnapshot =>
    order([], { changedAt, fence: { counter, value } });
  const kindOf = (known: OrderSnapshot, message: OrderSnapshot): string =>
    applyOrderMessage(known, whole(message)).kind;

  it.each([
    ['distinguishes two of one second', counted('20', 100), counted('19', 100), 'superseded'],
    ['outlives a clock that is set back', counted('19', 200), counted('20', 100), 'applied'],
    ['goes by value, not by text', counted('9', 100), counted('0010', 100), 'applied'],
    ['may be as it was', counted('09', 100), counted('9', 100), 'applied'],
    ['is not held against another', counted('20', 100), counted('19', 101, 'B'), 'applied'],
    ['is not held against none', counted('20', 100), order([], { changedAt: 99 }), 'superseded'],
    [
      'is more exact than a number',
      counted('20231128083400705438', 1),
      counted('20231128083400705437', 1),
      'superseded',
    ],
  ])('%s', (_name, known, message, kind) => {
    expect(kindOf(known, message)).toBe(kind);
  });
});

describe('a change of an order', () => {
  const after = (more: Partial<OrderChange>): OrderSnapshot =>
    orderAfter(applyOrderMessage(KNOWN, change(more)));

  const ALL = ORDER_STATUSES.join(' ');

  it.each<[OrderStatus, string, string, string]>([
    // Partly released, then the released part is done.
    ['released', 'released planned', 'released', 'released planned'],
    ['released', 'completed planned', 'started', 'completed planned'],
    // Its operations were released before, or it was held in between.
    ['planned', 'released planned', 'released', 'released planned'],
    ['released', 'released planned', 'held released', 'released planned'],
    // Nothing was released before.
    ['planned', 'planned planned', 'released', 'released released'],
    ['planned', 'planned cancelled', 'started', 'started cancelled'],
    ['planned', 'planned', 'held released', 'released'],
    ['released', ALL, 'held', 'planned held held held completed cancelled'],
    ['released', ALL, 'held released', 'planned released released released completed cancelled'],
    ['started', 'started released', 'released', 'started released'],
    ['released', 'started held completed', 'planned', 'planned planned completed'],
    ['started', ALL, 'completed', 'completed completed completed completed completed cancelled'],
    ['started', ALL, 'cancelled', 'cancelled cancelled cancelled cancelled completed cancelled'],
  ])('of its status alone, %s before, goes for operations %s: %s makes them %s', (...row) => {
    const [status, operations, statuses, expected] = row;
    const known = operations
      .split(' ')
      .map((each, index) => operation(`${index}`, { status: each as OrderStatus }));
    let after = order(known, { status });
    for (const next of statuses.split(' ') as OrderStatus[]) {
      after = orderAfter(applyOrderMessage(after, change({ status: next })));
      expect(after).toMatchObject({ changedAt: 101, status: next });
    }
    expect(after.operations.map((each) => each.status).join(' ')).toBe(expected);
  });

  it('of operations leaves the others, and the fields that it does not have', () => {
    const operations: OperationChange[] = [
      { operationId: '0010', status: 'held', plannedStart: 500 },
    ];
    expect(after({ operations })).toMatchObject({
      status: 'released',
      operations: [operation('0010', { status: 'held', plannedStart: 500 }), KNOWN.operations[1]],
    });
  });

  it('reopens a finished operation that it names', () => {
    const operations: OperationChange[] = [{ operationId: '0020', status: 'started' }];
    expect(after({ operations }).operations[1]).toEqual(operation('0020', { status: 'started' }));
  });

  it('moves an operation with its whole place', () => {
    const moved = after({ operations: [{ operationId: '0010', machineId: 'M-9' }] });
    expect(moved.operations[0]).toEqual({
      operationId: '0010',
      machineId: 'M-9',
      status: 'released',
    });
  });

  it('adds an operation with a place, and none without', () => {
    const operations: OperationChange[] = [
      { operationId: '0030', workCentre: 'DR01' },
      { operationId: '0040', status: 'started' },
    ];
    expect(after({ operations, status: 'held' }).operations).toEqual([
      ...KNOWN.operations,
      { operationId: '0030', workCentre: 'DR01', status: 'held' },
    ]);
  });

  it.each<[string, Partial<OrderChange>]>([
    ['its key', {}],
    ['its key and no operation', { operations: [] }],
    ['its key and a count', { fence: { counter: 'DOCNUM of A', value: '9' } }],
  ])('says nothing with %s alone, and does not make the order newer', (_name, more) => {
    const known = { ...KNOWN, fence: { counter: 'SERIAL of A', value: '20' } };
    const fetched = whole(order([operation('0030')], { changedAt: 101 }));
    const event = applyOrderMessage(known, change({ ...more, changedAt: 105 }));
    expect(event).toEqual({ kind: 'applied', order: known });
    expect(applyOrderMessage(orderAfter(event), fetched).kind).toBe('applied');
  });

  it('may name ten thousand operations that are not among as many known ones, in good time', () => {
    const [known, named] = [0, 10_000].map((from) =>
      Array.from({ length: 10_000 }, (_, index) => operation(`${from + index}/FR01`)),
    );
    const states = named!.map(({ operationId }) => ({ operationId, status: 'held' as const }));
    const before = process.cpuUsage();
    const after = orderAfter(applyOrderMessage(order(known!), change({ operations: states })));
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(2500);
    expect(after.operations).toEqual(known);
  });
});

describe('a change that replaces operations', () => {
  const at = (operationId: string, workCentre: string, more: Partial<OrderOperation> = {}) =>
    operation(operationId, { workCentre, ...more });
  const known = order([
    at('0010/FR01', 'FR01', { status: 'started', sequence: 10, plannedStart: 500 }),
    at('0010/FR02', 'FR02', { status: 'started', sequence: 10, plannedStart: 500 }),
    at('0020', 'DR01', { status: 'planned' }),
  ]);
  const operationsAfter = (more: Partial<OrderChange>): OrderOperation[] =>
    orderAfter(applyOrderMessage(known, change(more))).operations;
  const idsAfter = (more: Partial<OrderChange>): string[] =>
    operationsAfter(more).map(({ operationId }) => operationId);

  it('removes the places that it does not name, and leaves the other operations', () => {
    const operations = [{ operationId: '0010/FR02', workCentre: 'FR02' }];
    expect(idsAfter({ operations, replaces: ['0010'] })).toEqual(['0010/FR02', '0020']);
    expect(idsAfter({ operations, replaces: 'all' })).toEqual(['0010/FR02']);
    expect(idsAfter({ operations })).toEqual(['0010/FR01', '0010/FR02', '0020']);
  });

  it('copies missing fields to a new place, but nothing of the old place', () => {
    const moved = { operationId: '0010', machineId: 'M-9' };
    const rest = { status: 'started', sequence: 10, plannedStart: 500 };
    expect(operationsAfter({ operations: [moved], replaces: ['0010'] })).toEqual([
      known.operations[2],
      { ...rest, ...moved },
    ]);
    const held = { ...moved, status: 'held' as const, plannedStart: 700 };
    expect(operationsAfter({ operations: [held], replaces: 'all' })).toEqual([
      { ...rest, ...held },
    ]);
  });

  it('puts an operation at several places instead of one', () => {
    const operations = ['DR01', 'DR02'].map((workCentre) => ({
      operationId: `0020/${workCentre}`,
      workCentre,
    }));
    expect(operationsAfter({ operations, replaces: ['0020'] }).slice(2)).toEqual(
      operations.map((each) => ({ ...each, status: 'planned' })),
    );
  });

  it('treats an id that only looks like a place of another operation as an operation of its own', () => {
    const own = order([at('0010/FR02', 'FR01'), at('0010/FR01/1', 'FR01'), at('10010', 'FR01')]);
    const message = change({ operations: [at('0010', 'FR09')], replaces: ['0010'] });
    expect(orderAfter(applyOrderMessage(own, message)).operations).toEqual([
      ...own.operations,
      at('0010', 'FR09'),
    ]);
  });

  it('leaves all of them if it has only a status', () => {
    expect(idsAfter({ status: 'held', replaces: 'all' })).toHaveLength(3);
  });

  it('may be the first message of an order, and is applied again', () => {
    const message = change({ operations: [at('0010', 'FR09')], replaces: ['0010'] });
    const first = orderAfter(applyOrderMessage(undefined, message));
    expect(first.operations).toEqual([at('0010', 'FR09')]);
    expect(orderAfter(applyOrderMessage(first, message))).toEqual(first);
  });

  it('never removes an operation that it does not name', () => {
    const numbers = fc.uniqueArray(fc.constantFrom('0010', '0020', '0030'));
    const centres = fc.uniqueArray(fc.constantFrom('FR01', 'FR02', 'FR03'), { minLength: 1 });
    const entries = fc
      .tuple(numbers, centres)
      .map(([ids, places]) =>
        ids.flatMap((id) =>
          places.map((place) => at(places.length === 1 ? id : `${id}/${place}`, place)),
        ),
      );
    const numberOf = ({ operationId }: OperationChange) => operationId.slice(0, 4);
    fc.assert(
      fc.property(entries, entries, (before, operations) => {
        const replaces = operations.map(numberOf);
        const after = orderAfter(
          applyOrderMessage(order(before), change({ operations, replaces })),
        ).operations;
        const isUnnamed = (each: OperationChange) => !replaces.includes(numberOf(each));
        expect(after.filter(isUnnamed)).toEqual(before.filter(isUnnamed));
        expect(after.filter((each) => !isUnnamed(each))).toHaveLength(operations.length);
      }),
    );
  });
});

describe('a change of a finished order whose operations are forgotten', () => {
  const apply = (status: OrderStatus, more: Partial<OrderChange>) =>
    applyOrderMessage(order([], { status }), change(more));
  const named: OperationChange = { operationId: '0010', status: 'released' };
  const done: OperationChange = { operationId: '0010', status: 'completed' };

  it.each<[string, OrderStatus, Partial<OrderChange>]>([
    ['takes it up again', 'completed', { status: 'released' }],
    ['takes it up again, and names none of them', 'cancelled', { status: 'held', operations: [] }],
    ['takes up an operation without its place', 'released', { operations: [named] }],
  ])('is not enough when it %s', (_name, status, more) => {
    expect(apply(status, more)).toEqual({ kind: 'unknown-order' });
  });

  it.each<[string, OrderStatus, Partial<OrderChange>, OrderStatus]>([
    ['leaves it finished', 'completed', { status: 'cancelled' }, 'cancelled'],
    ['names an operation of one that is over', 'completed', { operations: [named] }, 'completed'],
    ['repeats that operations are done', 'released', { operations: [done] }, 'released'],
    ['repeats the status beside those', 'released', { status: 'released' }, 'released'],
  ])('is applied when it %s', (_name, status, more, expected) => {
    expect(orderAfter(apply(status, more))).toEqual(
      order([], { changedAt: 101, status: expected }),
    );
  });
});

describe('a change of an unknown order', () => {
  const apply = (more: Partial<OrderChange>) => applyOrderMessage(undefined, change(more));

  it.each([
    [{}],
    [{ status: 'started' as const }],
    [{ operations: [{ operationId: '0010', status: 'started' as const }] }],
  ])('is not enough without a place to do it: %j', (more) => {
    expect(apply(more)).toEqual({ kind: 'unknown-order' });
  });

  it.each<[OrderStatus | undefined, OrderStatus[]]>([
    [undefined, ['completed']],
    [undefined, ['completed', 'cancelled']],
    ['released', ['completed']],
  ])('leaves nothing to do when its status is %s and its operations are %j', (status, statuses) => {
    const operations = statuses.map((each, index) => operation(`${index}`, { status: each }));
    expect(apply({ ...(status && { status }), operations })).toMatchObject({
      kind: 'nothing-left',
      order: { orderId: '4711', operations },
    });
  });

  it('does not suffice if one operation is done and another has no place', () => {
    const operations = [operation('0010', { status: 'completed' }), { operationId: '0020' }];
    expect(apply({ operations })).toEqual({ kind: 'unknown-order' });
  });

  it.each(['completed', 'cancelled'] as const)('suffices if it is %s', (status) => {
    expect(orderAfter(apply({ status }))).toEqual(order([], { changedAt: 101, status }));
  });

  it.each<[OrderStatus[], OrderStatus]>([
    [['planned', 'started', 'completed'], 'started'],
    [['planned', 'released'], 'released'],
    [['planned', 'completed'], 'planned'],
  ])('follows from the statuses of its operations: %j is %s', (statuses, expected) => {
    const operations = statuses.map((status, index) => operation(`${index}`, { status }));
    expect(orderAfter(apply({ operations }))).toMatchObject({ status: expected, operations });
  });

  it('leaves an operation planned that has a place and no status', () => {
    const done = operation('0010', { status: 'completed' });
    expect(
      orderAfter(apply({ operations: [done, { operationId: '0020', workCentre: 'DR01' }] })),
    ).toMatchObject({ status: 'planned', operations: [done, { status: 'planned' }] });
  });

  it('does not exclude operations that are named after those that are done', () => {
    const statuses = fc.array(fc.constantFrom(...ORDER_STATUSES), { maxLength: 3 });
    fc.assert(
      fc.property(statuses, (heard) => {
        const first = heard.map((status, index) => operation(`${index}`, { status }));
        const begun = apply({ operations: first });
        const known = begun.kind === 'applied' ? begun.order : undefined;
        const next = change({ changedAt: 102, operations: [operation('next')] });
        const { status, operations } = orderAfter(applyOrderMessage(known, next));
        expect(isFinishedStatus(status)).toBe(false);
        expect(operations).toContainEqual(operation('next'));
      }),
    );
  });
});
