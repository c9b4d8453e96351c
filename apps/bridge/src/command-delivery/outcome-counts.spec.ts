import { OutcomeCounts } from './outcome-counts.js';

describe('OutcomeCounts', () => {
  it('counts by flow, by what became of the message, and rejections by why', () => {
    const counts = new OutcomeCounts();
    counts.add('work-order-list', 'applied', null);
    counts.add('work-order-list', 'applied', null);
    counts.add('work-order-list', 'superseded', null);
    counts.add('downtime-reason', 'applied', null);
    counts.add('downtime-reason', 'rejected', 'unknown-reason');
    counts.add('downtime-reason', 'rejected', 'invalid-json');
    counts.add('downtime-reason', 'rejected', 'unknown-reason');
    expect(counts.totals()).toEqual([
      { flow: 'work-orders', outcome: 'applied', code: '', count: 2 },
      { flow: 'work-orders', outcome: 'superseded', code: '', count: 1 },
      { flow: 'downtime-reasons', outcome: 'applied', code: '', count: 1 },
      { flow: 'downtime-reasons', outcome: 'rejected', code: 'unknown-reason', count: 2 },
      { flow: 'downtime-reasons', outcome: 'rejected', code: 'invalid-json', count: 1 },
    ]);
  });
});
