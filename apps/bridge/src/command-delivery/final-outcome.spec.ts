import { finalOutcomeOf } from './final-outcome.js';

const source = { topic: 'lists', partition: 0, offset: 7, messageId: null };
const record = (value: unknown, type = 'work-order-list.applied.v1') => ({
  headers: [['ce_type', Buffer.from(type)]] as const,
  value: Buffer.from(JSON.stringify(value)),
});

describe('the final outcome in a record', () => {
  it('is of a message and a machine, or of none that could be read', () => {
    const outcome = { source, machineId: 'M-1' };
    expect(finalOutcomeOf(record({ ...outcome, attempts: 1 }))).toEqual(outcome);
    expect(finalOutcomeOf(record({ source, machineId: null }))?.machineId).toBeNull();
  });

  it.each([
    ['a deferral', record({ source, machineId: 'M-1' }, 'downtime-reason.deferred.v1')],
    ['a tombstone', { ...record(null), value: null }],
    ['no JSON', { ...record(null), value: Buffer.from('{') }],
    ['other JSON', record(['M-1'])],
    ['no outcome at all', { headers: [], value: Buffer.from('text') }],
  ])('is none where there is %s', (_, other) => {
    expect(finalOutcomeOf(other)).toBeUndefined();
  });
});
