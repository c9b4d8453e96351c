import type { Entry } from '../../../src/api/index.js';
import {
  compareSending,
  isForgotten,
  markUnanswered,
  operatorAt,
  type OutgoingReason,
  rowStatus,
  toNewEntry,
  undoableBatch,
  unexplainedParts,
  unsent,
  applyAnswer,
} from './outgoing.js';
import { ENTRY, REASON as reason } from './testing/entries.js';

const answer = (status: Entry['status'], code: string | null = null): Entry => ({
  ...{ ...ENTRY, status, code },
});

describe('an entry on its way', () => {
  it('can be taken back until its time is over, then waits, then is being sent', () => {
    expect(rowStatus(reason, 9_999, new Set())).toBe('undo');
    expect(rowStatus(reason, 10_000, new Set())).toBe('queued');
    expect(rowStatus(reason, 10_000, new Set(['e-1']))).toBe('sending');
  });

  it('is sent at once, though the clock was set back by an hour meanwhile', () => {
    expect(rowStatus({ ...reason, sendAfterMs: 3_610_000 }, 0, new Set())).toBe('queued');
    expect(unsent([{ ...reason, sendAfterMs: 3_610_000 }], 0)).toEqual({ count: 1, since: 700 });
  });

  it('can no longer be taken back once it was tried, whatever the clock says', () => {
    expect(rowStatus({ ...reason, tried: true }, 0, new Set())).toBe('queued');
  });

  it('counts as not sent only when its undo time is over', () => {
    expect(unsent([reason], 5_000)).toBeNull();
    expect(unsent([reason, { ...reason, id: 'e-2', madeAt: 650 }], 10_000)).toEqual({
      count: 2,
      since: 650,
    });
    expect(unsent([{ ...reason, status: 'sent' }], 10_000)).toBeNull();
  });

  it('takes the answers in any order, and keeps the final one', () => {
    const applied = applyAnswer(reason, answer('applied'), 5);
    expect(applied).toMatchObject({ status: 'applied', settledAtMs: 5 });
    expect(applyAnswer(applied, answer('sent'), 6)).toBe(applied);
    const deferred = applyAnswer({ ...reason, status: 'sent' }, answer('deferred'), 5);
    expect(deferred).toMatchObject({ status: 'deferred', settledAtMs: null });
    expect(applyAnswer(deferred, answer('rejected', 'unknown-reason'), 7)).toMatchObject({
      status: 'rejected',
      code: 'unknown-reason',
    });
  });

  it('ends with the follow-up that the server sends, and with no other entry', () => {
    const sent = { ...reason, status: 'applied', tried: true } as const;
    const followUp = { ...answer('sent'), entryId: 'f-1', endTime: 840, sentAt: 850 };
    expect(applyAnswer(sent, followUp, 5)).toMatchObject({
      status: 'applied',
      endTime: 840,
      stop: { startTime: 600, endTime: 840 },
    });
    for (const other of [
      { ...followUp, startTime: 900, endTime: 960 },
      { ...followUp, machineId: 'M-2' },
      { ...followUp, sentAt: 650 },
      { ...followUp, endTime: null },
      { ...followUp, status: 'rejected' as const },
    ])
      expect(applyAnswer(sent, other, 5)).toBe(sent);
    // what may have been sent as it is does not change
    expect(applyAnswer({ ...reason, tried: true }, followUp, 5).endTime).toBeNull();
  });

  it('gets the end with which the server has written it, as its stop was over', () => {
    const written = { ...answer('sent'), endTime: 840, sentAt: 850 };
    const ended = { status: 'sent', endTime: 840, stop: { startTime: 600, endTime: 840 } };
    expect(applyAnswer({ ...reason, tried: true }, written, 5)).toMatchObject(ended);
  });

  it('leaves a stop that began after it was made unexplained, however open its end', () => {
    const again = { startTime: 1200, endTime: null };
    expect(unexplainedParts({ startTime: 600, endTime: null }, [reason])).toEqual([]);
    expect(unexplainedParts(again, [reason])).toEqual([again]);
  });

  it('is sent before later ones; of those made together, the open-ended one is the last', () => {
    const entries = [
      { ...reason, id: 'later', sendAfterMs: 10_001, endTime: 900 },
      { ...reason, id: 'open' },
      { ...reason, id: 'second part', startTime: 700, endTime: 900 },
      { ...reason, id: 'first part', endTime: 700 },
    ];
    expect(entries.sort(compareSending).map(({ id }) => id)).toEqual([
      ...['first part', 'second part', 'open', 'later'],
    ]);
  });

  it('is sent before one that was made later, though the clock of its device was set back between them', () => {
    const earlier = { ...reason, id: 'earlier', madeAt: 700, sendAfterMs: 3_610_000 };
    const correction = { ...reason, id: 'correction', madeAt: 720, sendAfterMs: 30_000 };
    const sorted = [correction, earlier].sort(compareSending);
    expect(sorted.map(({ id }) => id)).toEqual(['earlier', 'correction']);
  });

  it('is unanswered once the server has forgotten it, and never while it is not sent', () => {
    const sent = { ...reason, status: 'sent' } as const;
    const times = { lastShiftStart: 1000, sentAt: 700, nowMs: 5 };
    const unanswered = { ...sent, status: 'unanswered', settledAtMs: 5 };
    expect(markUnanswered(sent, times)).toEqual(unanswered);
    expect(markUnanswered(sent, { ...times, sentAt: 1000 })).toBe(sent);
    for (const kept of [reason, { ...sent, startTime: 1000 }, { ...sent, endTime: 1000 }])
      expect(markUnanswered(kept, times)).toBe(kept);
  });

  it('is forgotten a day after its final answer, and never before', () => {
    const day = 24 * 3600_000;
    expect(isForgotten({ ...reason, sendAfterMs: 0 }, 99 * day)).toBe(false);
    expect(isForgotten({ ...reason, status: 'applied', settledAtMs: 0 }, day)).toBe(false);
    expect(isForgotten({ ...reason, status: 'applied', settledAtMs: 0 }, day + 1)).toBe(true);
  });
});

describe('the operator of a reason', () => {
  it('is sent as registered when the reason was entered, with that time', () => {
    const sent = toNewEntry({ ...reason, operator: 'A. Kowalski' });
    expect(sent).toMatchObject({ operator: 'A. Kowalski', madeAt: 700 });
    expect(toNewEntry({ ...reason, operator: null }).operator).toBeNull();
  });

  it('is nobody after the shift', () => {
    const session = { operator: 'A. Kowalski', shifts: [{ startTime: 0, endTime: 28_800 }] };
    expect(operatorAt(session, 28_799)).toBe('A. Kowalski');
    expect(operatorAt(session, 28_800)).toBeNull();
    expect(operatorAt(null, 0)).toBeNull();
  });
});

describe('reasons given together', () => {
  const batch = ['e-1', 'e-2', 'e-3'].map((id) => ({ ...reason, id, batchId: 'b-1' }));
  const idsOf = (entries: readonly OutgoingReason[], nowMs = 5_000): string[] =>
    undoableBatch(entries, nowMs).map(({ id }) => id);

  it('are taken back together, while none of them is sent', () => {
    expect(idsOf(batch)).toEqual(['e-1', 'e-2', 'e-3']);
    expect(idsOf(batch, 10_000)).toEqual([]);
  });

  it('are those given last, and more than one', () => {
    const later = ['e-4', 'e-5'].map((id) => ({ ...reason, id, batchId: 'b-2' }));
    expect(idsOf([...batch, ...later])).toEqual(['e-4', 'e-5']);
    expect(idsOf(batch.slice(0, 1))).toEqual([]);
  });
});
