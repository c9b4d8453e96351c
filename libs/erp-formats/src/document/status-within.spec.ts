import { ORDER_STATUSES } from '#libs/contracts';
import { statusWithin } from './status-within.js';

describe('the status of an operation', () => {
  it.each(ORDER_STATUSES)('of a %s operation ends with that of its order', (operation) => {
    expect(statusWithin('cancelled', operation)).toBe('cancelled');
    expect(statusWithin('completed', operation)).toBe(
      operation === 'cancelled' ? 'cancelled' : 'completed',
    );
  });

  it('is held with that of the order where work could go on', () => {
    expect(ORDER_STATUSES.map((operation) => statusWithin('held', operation))).toEqual([
      'planned',
      'held',
      'held',
      'held',
      'completed',
      'cancelled',
    ]);
  });

  it.each(['planned', 'released', 'started'] as const)('stands beside a %s order', (order) => {
    expect(ORDER_STATUSES.map((operation) => statusWithin(order, operation))).toEqual([
      ...ORDER_STATUSES,
    ]);
  });
});
