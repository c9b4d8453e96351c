import { readMessages } from '../../test/read-messages.js';

const OPERATION = { idx: 1, workstation: 'FR01', status: 'Pending' };
const order = (more: object = {}): object => ({
  doctype: 'Work Order',
  name: 'WO-7',
  status: 'Not Started',
  operations: [OPERATION],
  ...more,
});
const read = (value: unknown, recordedAt = 17) =>
  readMessages(JSON.stringify(value), { recordedAt });

describe('a work order of ERPNext', () => {
  it.each([
    ['Draft', 'planned'],
    ['Submitted', 'released'],
    ['Not Started', 'released'],
    ['Stock Reserved', 'released'],
    ['Stock Partially Reserved', 'released'],
    ['In Process', 'started'],
    ['Stopped', 'held'],
    ['Completed', 'completed'],
    ['Closed', 'completed'],
    ['Cancelled', 'cancelled'],
  ])('that is %s is %s, and so is what is pending of it', (text, status) => {
    expect(read(order({ status: text }))[0]?.order).toMatchObject({
      status,
      operations: [{ status }],
    });
  });

  it.each([
    ['Work in Progress', 'started'],
    ['Completed', 'completed'],
  ])('has operations that are %s, then %s', (text, status) => {
    const operations = [{ ...OPERATION, status: text }];

    expect(read(order({ operations }))[0]?.order.operations).toMatchObject([{ status }]);
  });

  it.each([
    ['an unknown status', order({ status: 'Lost' }), 'status is no known status: Lost'],
    [
      'no row number',
      order({ operations: [{ ...OPERATION, idx: null }] }),
      'operations[0].idx is missing',
    ],
    ['a time that is none', order({ modified: 'yesterday' }), 'modified is no date and time'],
    [
      'two rows of one number',
      order({ operations: [OPERATION, OPERATION] }),
      'operations[1] repeats operationId 1',
    ],
    [
      'its name alone',
      { doctype: 'Work Order', name: 'WO-7' },
      'the document only names an order: status and operations are missing',
    ],
  ])('with %s is refused', (_name, document, why) => {
    expect(() => read(document)).toThrow(`invalid-message: ERPNext Work Order: ${why}`);
  });

  it('is none of another document', () => {
    expect(() => read({ ...order(), doctype: 'Job Card' })).toThrow(
      'orderId is missing; formats: ',
    );
  });
});
