import { FinishedOrders } from './finished-orders.js';

describe('FinishedOrders', () => {
  it('gives up those finished longest ago, as far as they are more than are remembered', () => {
    const finished = new FinishedOrders(['A', 'B'], 3);
    finished.finished('C');
    expect(finished.excess()).toEqual([]);
    finished.finished('D');
    finished.finished('E');
    expect(finished.excess()).toEqual(['A', 'B']);
    finished.delete('A');
    expect(finished.excess()).toEqual(['B']);
  });

  it('counts an order that is finished again as finished last', () => {
    const finished = new FinishedOrders(['A', 'B'], 2);
    finished.finished('A');
    finished.finished('C');
    expect(finished.excess()).toEqual(['B']);
  });
});
