import { LettersBefore } from './letters-before.js';

const LISTS = { topic: 'lists', partition: 1, offset: 7, messageId: 'm-1' };
const ORDERS = { ...LISTS, topic: 'orders' };
const result = {
  kind: 'rejected',
  attempts: 1,
  httpStatus: 422,
  rejection: { code: 'rejected-by-service', detail: 'no such order' },
} as const;
const fault = (machineId: string | null): { machineId: string | null } => ({ machineId });

describe('a message of which there is a dead letter already', () => {
  let letters: LettersBefore;

  beforeEach(() => {
    letters = new LettersBefore('orders');
  });

  it('is not set aside again, whichever of its machines are at fault by now', () => {
    letters.add({ source: LISTS, machineIds: ['M-1'], result });
    expect(letters.lacking(LISTS, [fault('M-2'), fault(null)], false)).toEqual([]);
  });

  it('is another one than those beside it', () => {
    letters.add({ source: LISTS, machineIds: undefined, result });
    const faults = [fault('M-1')];
    expect(letters.lacking({ ...LISTS, offset: 8 }, faults, false)).toEqual(faults);
    expect(letters.lacking({ ...LISTS, partition: 2 }, faults, false)).toEqual(faults);
    expect(letters.lacking({ ...LISTS, topic: 'reasons' }, faults, false)).toEqual(faults);
    expect(letters.lacking(LISTS, faults, false)).toEqual([]);
  });

  it('is no longer remembered once that was asked', () => {
    letters.add({ source: LISTS, machineIds: undefined, result });
    letters.lacking(LISTS, [fault('M-1')], false);
    expect(letters.lacking(LISTS, [fault('M-1')], false)).toHaveLength(1);
  });

  it('is not remembered once its partition, or its topic, is to be forgotten', () => {
    letters.add({ source: LISTS, machineIds: undefined, result });
    letters.add({ source: ORDERS, machineIds: undefined, result });
    letters.forget(LISTS);
    letters.forgetTopic('orders');
    expect(letters.lacking(LISTS, [fault('M-1')], false)).toHaveLength(1);
    expect(letters.lacking(ORDERS, [fault('M-1')], false)).toHaveLength(1);
  });
});

describe('a list of which there is a dead letter already, and which a younger one has replaced by now', () => {
  let letters: LettersBefore;
  const superseded = (machineId: string | null) =>
    ({ kind: 'superseded', machineId, attempts: 0, detail: 'a newer list came' }) as const;

  beforeEach(() => {
    letters = new LettersBefore('orders');
  });

  it('is rejected as the letter says, for the machines it names', () => {
    letters.add({ source: LISTS, machineIds: ['M-1'], result });
    const results = [superseded('M-1'), superseded('M-2')];
    const rejected = { ...result, machineId: 'M-1' };
    expect(letters.asWritten(LISTS, results)).toEqual([rejected, superseded('M-2')]);
    expect(letters.asWritten({ ...LISTS, offset: 8 }, results)).toBe(results);
  });

  it('is rejected for its machine where the letter names none', () => {
    letters.add({ source: LISTS, machineIds: undefined, result });
    const results = [superseded('M-1')];
    expect(letters.asWritten(LISTS, results)).toEqual([{ ...result, machineId: 'M-1' }]);
    letters.forget(LISTS);
    expect(letters.asWritten(LISTS, results)).toBe(results);
  });

  it('is applied where the service has taken it now', () => {
    letters.add({ source: LISTS, machineIds: undefined, result });
    const applied = { kind: 'applied', machineId: 'M-1', attempts: 1, appliedAt: 1 } as const;
    expect(letters.asWritten(LISTS, [applied])).toEqual([applied]);
  });
});

describe('orders of which there is a dead letter already', () => {
  let letters: LettersBefore;

  beforeEach(() => {
    letters = new LettersBefore('orders');
  });

  it('are set aside for the machines that it does not name, where these are dealt with', () => {
    letters.add({ source: ORDERS, machineIds: ['M-1', 'M-2'], result });
    expect(letters.lacking(ORDERS, [fault('M-2'), fault('M-3')], true)).toEqual([fault('M-3')]);
  });

  it('are set aside for each machine when the letter is of what is wrong with the orders themselves', () => {
    letters.add({ source: ORDERS, machineIds: undefined, result });
    expect(letters.lacking(ORDERS, [fault('M-1')], true)).toEqual([fault('M-1')]);
  });

  it('are set aside for what is wrong with them when the letter is of a machine that refused its list', () => {
    letters.add({ source: ORDERS, machineIds: ['M-1'], result });
    expect(letters.lacking(ORDERS, [fault(null)], false)).toEqual([fault(null)]);
  });

  it.each([
    ['one of the machines it lacks', ['M-9']],
    ['no machine', undefined],
  ])('are not set aside again for what is wrong with them when the letter names %s', (_, names) => {
    letters.add({ source: ORDERS, machineIds: names, result });
    expect(letters.lacking(ORDERS, [fault(null), fault('M-9')], false)).toEqual([]);
  });
});
