import { epochSeconds, readMessages } from '../../test/read-messages.js';

const OPERATION = { idx: 1, workstation: 'FR01', status: 'Pending' };
const order = (more: object = {}): object => ({
  doctype: 'Work Order',
  name: 'WO-7',
  status: 'Not Started',
  operations: [OPERATION],
  ...more,
});
const read = (value: unknown, recordedAt = 17) =>
  readMessages(JSON.stringify(value), { recordedAt, timeZone: 'Europe/Berlin' });

describe('a work order of ERPNext', () => {
  it.each([
    ['Draft', 'planned'],
    ['Completed', 'completed'],
    ['Cancelled', 'cancelled'],
  ])('that is %s has pending operations that are %s', (text, status) => {
    const [message] = read(order({ status: text }));
    expect(message?.order.operations).toMatchObject([{ status }]);
  });

  it.each([
    ['Pending', 'released'],
    ['Work in Progress', 'started'],
    ['Completed', 'completed'],
  ])('that is released has operations that are %s, then %s', (text, status) => {
    const operations = [{ ...OPERATION, status: text }];
    expect(read(order({ operations }))[0]?.order.operations).toMatchObject([{ status }]);
  });

  it.each(['2024-10-27T02:10:07+02:00', '2024-10-27T02:10:07+01:00'])(
    'was changed in the hour of its record where the clock shows it twice: %s',
    (recorded) => {
      const changed = order({ modified: '2024-10-27 02:10:05.123' });
      const recordedAt = epochSeconds(recorded);
      expect(read(changed, recordedAt)[0]?.order.changedAt).toBe(recordedAt - 2);
    },
  );

  it('is not recognised in another document', () => {
    expect(() => read({ ...order(), doctype: 'Job Card' })).toThrow(
      'orderId is missing; formats: ',
    );
  });
});
