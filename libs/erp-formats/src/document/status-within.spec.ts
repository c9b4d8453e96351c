import { ORDER_STATUSES } from '#libs/contracts';
import { statusWithin } from './status-within.js';

describe('the status of an operation within its order', () => {
  const ALL = ORDER_STATUSES.join(' ');

  it.each([
    ['cancelled', 'cancelled cancelled cancelled cancelled cancelled cancelled'],
    ['completed', 'completed completed completed completed completed cancelled'],
    ['held', 'planned held held held completed cancelled'],
    ['planned', ALL],
    ['released', ALL],
    ['started', ALL],
  ] as const)(`turns ${ALL} in an order that is %s into %s`, (order, expected) => {
    expect(ORDER_STATUSES.map((each) => statusWithin(order, each)).join(' ')).toBe(expected);
  });
});
