import { type CommandOutcome, OUTCOME_TYPES } from '#libs/contracts';
import { type RecentOutcome, RecentOutcomes } from './recent-outcomes.js';

const APPLIED = OUTCOME_TYPES.workOrderListApplied;

function outcomeAt(offset: number, machineId = 'M-1'): CommandOutcome {
  const source = { topic: 'topic', partition: 0, offset, messageId: null };
  return { machineId, source, code: null, detail: null, attempts: 1, appliedAt: offset };
}

/** As it is read again. */
const readAt = (offset: number): RecentOutcome => ({ type: APPLIED, ...outcomeAt(offset) });

describe('RecentOutcomes', () => {
  it('knows nothing of a machine it has not heard of', () => {
    expect(new RecentOutcomes().of('M-1')).toEqual([]);
  });

  it('keeps the last five outcomes of each machine, newest first', () => {
    const recent = new RecentOutcomes();
    recent.add('M-2', APPLIED, outcomeAt(99, 'M-2'));
    for (const offset of [1, 2, 3, 4, 5, 6, 7]) recent.add('M-1', APPLIED, outcomeAt(offset));
    expect(recent.of('M-1').map(({ source }) => source.offset)).toEqual([7, 6, 5, 4, 3]);
    expect(recent.of('M-2').map(({ source }) => source.offset)).toEqual([99]);
  });

  it('writes over all that the oldest has said, and nothing that was read before', () => {
    const recent = new RecentOutcomes();
    for (const offset of [1, 2, 3, 4, 5]) recent.add('M-1', APPLIED, outcomeAt(offset));
    const before = recent.of('M-1');
    const other: RecentOutcome = {
      type: OUTCOME_TYPES.downtimeReasonRejected,
      machineId: 'M-1',
      source: { topic: 'other', partition: 3, offset: 6, messageId: 'm-6' },
      code: 'unknown-reason',
      detail: 'none',
      attempts: 2,
      appliedAt: null,
    };
    const { type, ...outcome } = other;
    recent.add('M-1', type, outcome);
    expect(recent.of('M-1')).toEqual([other, ...[5, 4, 3, 2].map(readAt)]);
    expect(before).toEqual([5, 4, 3, 2, 1].map(readAt));
  });

  it('keeps of which order it was', () => {
    const recent = new RecentOutcomes();
    for (const offset of [1, 2, 3, 4, 5]) recent.add('M-1', APPLIED, outcomeAt(offset));
    for (const orderId of ['4711', '4712']) {
      recent.add('M-1', APPLIED, { ...outcomeAt(6), orderId });
    }
    expect(
      recent
        .of('M-1')
        .map(({ orderId }) => orderId)
        .slice(0, 3),
    ).toEqual(['4712', '4711', undefined]);
  });

  it('forgets machines when 20,000 others have been heard of twice over since', () => {
    const recent = new RecentOutcomes();
    const hearOf = (from: number): void => {
      for (let number = from; number < from + 20_000; number += 1) {
        recent.add(`M-${number}`, APPLIED, outcomeAt(number));
      }
    };
    hearOf(0);
    hearOf(20_000);
    expect(recent.of('M-1')).toHaveLength(1);
    recent.add('M-0', APPLIED, outcomeAt(40_000));
    hearOf(40_000);
    expect(recent.of('M-0')).toHaveLength(2);
    expect(recent.of('M-1')).toEqual([]);
    expect(recent.of('M-40000')).toHaveLength(1);
  });
});
