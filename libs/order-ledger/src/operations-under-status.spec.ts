import { ORDER_STATUSES, type OrderStatus } from '#libs/contracts';
import { applyOrderMessage } from './apply-order-message.js';

type Statuses = readonly OrderStatus[];

/** An order's operations after statuses of the order alone, one after the other. */
function after(order: OrderStatus, operations: Statuses, ...headers: Statuses): Statuses {
  let known = {
    orderId: '4711',
    changedAt: 100,
    status: order,
    operations: operations.map((status, index) => ({
      operationId: `${index}`,
      machineId: 'M-1',
      status,
    })),
  };
  for (const status of headers) {
    const change = { orderId: '4711', changedAt: 101, status };
    const application = applyOrderMessage(known, { kind: 'change', order: change });
    if (application.kind !== 'applied') throw new Error(application.kind);
    expect(application.order.status).toBe(status);
    known = application.order as typeof known;
  }
  return known.operations.map(({ status }) => status);
}

describe('a status of the order alone', () => {
  it.each<[string, OrderStatus, Statuses, Statuses, Statuses]>([
    [
      'of a partly released order',
      'released',
      ['released', 'planned'],
      ['released'],
      ['released', 'planned'],
    ],
    [
      'after the part that was released is done',
      'released',
      ['completed', 'planned'],
      ['started'],
      ['completed', 'planned'],
    ],
    [
      'of an order whose operations say so first',
      'planned',
      ['released', 'planned'],
      ['released'],
      ['released', 'planned'],
    ],
    [
      'of an order that is held and let go',
      'released',
      ['released', 'planned'],
      ['held', 'released'],
      ['released', 'planned'],
    ],
  ])('releases no planned operation %s', (_name, order, operations, headers, expected) => {
    expect(after(order, operations, ...headers)).toEqual(expected);
  });

  it.each<[string, Statuses, Statuses, Statuses]>([
    ['is released', ['planned', 'planned'], ['released'], ['released', 'released']],
    ['is started', ['planned', 'cancelled'], ['started'], ['started', 'cancelled']],
    ['was held before', ['planned'], ['held', 'released'], ['released']],
  ])(
    'releases planned operations of an order that %s as a whole',
    (_name, operations, headers, expected) => {
      expect(after('planned', operations, ...headers)).toEqual(expected);
    },
  );

  it('holds what is released or started, and lets it go again', () => {
    const operations: Statuses = ['released', 'started', 'held', 'planned', 'completed'];
    const held: Statuses = ['held', 'held', 'held', 'planned', 'completed'];
    const released: Statuses = ['released', 'released', 'released', 'planned', 'completed'];

    expect(after('released', operations, 'held')).toEqual(held);
    expect(after('released', operations, 'held', 'released')).toEqual(released);
  });

  it('does not take a started operation back to released', () => {
    expect(after('started', ['started', 'released'], 'released')).toEqual(['started', 'released']);
  });

  it('takes all that is not over back when it is planned', () => {
    expect(after('released', ['started', 'held', 'completed'], 'planned')).toEqual([
      'planned',
      'planned',
      'completed',
    ]);
  });

  it.each(['completed', 'cancelled'] as const)('ends what is not over when it is %s', (status) => {
    const ended = ORDER_STATUSES.map((each) =>
      each === 'completed' || each === 'cancelled' ? each : status,
    );

    expect(after('started', ORDER_STATUSES, status)).toEqual(ended);
  });
});
