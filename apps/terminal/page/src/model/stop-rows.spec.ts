import type { Tile } from '../../../src/api/index.js';
import type { OutgoingReason, Stop } from './outgoing.js';
import { REASON, TILE } from './testing/entries.js';
import { compareRows, heldRows, stopRows } from './stop-rows.js';

const tile = (machineId: string, openStops: Tile['openStops']): Tile => ({
  ...{ ...TILE, machineId, displayName: machineId, openStops },
});

const given = (stop: Stop, more: Partial<OutgoingReason> = {}): OutgoingReason => ({
  ...{ ...REASON, id: 'e', stop, startTime: stop.startTime, endTime: stop.endTime },
  ...{ status: 'sent', madeAt: 0, tried: true, ...more },
});

const stop = { startTime: 600, endTime: 1800, state: 'IDLE' } as const;

describe('the list of stops', () => {
  it('asks for a reason for an open stop', () => {
    const [row] = stopRows([tile('M-1', [stop])], [], 0);
    expect(row).toMatchObject({
      key: 'M-1|600',
      unexplained: [{ startTime: 600, endTime: 1800 }],
      reasons: [],
    });
  });

  it('no longer asks once a reason was given here, before anything is sent', () => {
    const [row] = stopRows([tile('M-1', [stop])], [given(stop, { status: 'waiting' })], 0);
    expect(row).toMatchObject({ unexplained: [], reasons: [{ id: 'e' }] });
  });

  it('keeps the row in its place when the server knows the stop as explained', () => {
    const [row, ...others] = stopRows([tile('M-1', [])], [given(stop)], 0);
    expect(row).toMatchObject({ key: 'M-1|600', unexplained: [] });
    expect(others).toEqual([]);
  });

  it('keeps one row for a stop of which a part was explained', () => {
    const rest = { ...stop, startTime: 1200 };
    const rows = stopRows([tile('M-1', [rest])], [given(stop, { endTime: 1200 })], 0);
    const unexplained = [{ startTime: 1200, endTime: 1800 }];
    expect(rows).toMatchObject([{ key: 'M-1|600', unexplained }]);
  });

  it('shows the end of an explained stop once the machine runs again', () => {
    const going = { ...stop, endTime: null };
    const runs = { ...tile('M-1', []), state: 'OPERATING' as const, startTime: 1900 };
    expect(stopRows([tile('M-1', [])], [given(going)], 0)[0]?.stop.endTime).toBeNull();
    expect(stopRows([runs], [given(going)], 0)[0]?.stop.endTime).toBe(1900);
  });

  it('marks a stop that the service has revised away: the machine ran throughout', () => {
    const isRevisedAway = (given_: OutgoingReason, more: Partial<Tile>): boolean | undefined =>
      stopRows([{ ...tile('M-1', []), ...more }], [given_], 0)[0]?.isRevisedAway;
    const going = given({ ...stop, endTime: null });
    const running = { state: 'OPERATING', startTime: 300 } as const;
    expect(isRevisedAway(going, running)).toBe(true);
    expect(isRevisedAway({ ...going, stop: { ...stop, endTime: 660 } }, running)).toBe(true);
    expect(isRevisedAway(going, { state: 'IDLE', startTime: 600 })).toBe(false);
    expect(isRevisedAway(going, { state: 'OPERATING', startTime: 1900 })).toBe(false);
    const meant = { ...going, stop: { ...stop, state: 'OPERATING' as const, endTime: null } };
    expect(isRevisedAway(meant, running)).toBe(false);
  });

  it('shows the end that the follow-up gave, though the machine stopped again since', () => {
    const part = given({ ...stop, endTime: null }, { endTime: 1200 });
    const ended = given(stop, { id: 'f', startTime: 1200 });
    const runs = { ...tile('M-1', []), state: 'OPERATING' as const, startTime: 2400 };
    const rows = stopRows([runs], [part, ended], 0);
    expect(rows.map((row) => row.stop)).toEqual([stop]);
  });

  describe('when the machine stops again after an open-ended reason', () => {
    const going = { ...stop, endTime: null };
    const again = { startTime: 2400, endTime: null, state: 'IDLE' } as const;
    const stopped = { ...tile('M-1', [again]), startTime: 2400 };

    it.each(['waiting', 'sent', 'deferred', 'applied'] as const)(
      'asks for the later stop in a row of its own, the reason being %s',
      (status) => {
        const entry = given(going, { status, madeAt: 660, settledAtMs: 0 });
        const rows = stopRows([stopped], [entry], 0);
        expect(rows.map(({ key, unexplained }) => [key, unexplained.length])).toEqual([
          ['M-1|600', 0],
          ['M-1|2400', 1],
        ]);
        expect(rows[0]?.stop.endTime).toBe(2400);
      },
    );

    it('asks for a later stop that has ended as well', () => {
      const ended = { ...again, endTime: 3000 };
      const runs = { ...tile('M-1', [ended]), state: 'OPERATING' as const, startTime: 3000 };
      const rows = stopRows([runs], [given(going, { status: 'deferred', madeAt: 660 })], 0);
      expect(rows.map(({ key, unexplained }) => [key, unexplained.length])).toEqual([
        ['M-1|600', 0],
        ['M-1|2400', 1],
      ]);
    });

    it('shows a stop as continuing while the reason applies at the server, whatever the state', () => {
      const off = {
        ...tile('M-1', []),
        state: 'OFF' as const,
        startTime: 2400,
        goingOn: { entryId: 'e', reasonId: '13', startTime: 600 },
      };
      expect(stopRows([off], [given(going)], 0)[0]?.stop.endTime).toBeNull();
    });
  });

  it('asks again for a stop with a refused reason, beside the refusal', () => {
    const refused = given(stop, { status: 'rejected', settledAtMs: 0 });
    expect(stopRows([tile('M-1', [stop])], [refused], 1000)[0]).toMatchObject({
      unexplained: [{ startTime: 600, endTime: 1800 }],
      reasons: [{ status: 'rejected' }],
    });
  });

  it('keeps a refusal until another reason was given', () => {
    const refused = given(stop, { status: 'rejected', settledAtMs: 0 });
    expect(stopRows([tile('M-1', [])], [refused], 9e9)[0]?.reasons).toHaveLength(1);
    const [row] = stopRows([tile('M-1', [])], [refused, given(stop, { id: 'f', madeAt: 1 })], 9e9);
    expect(row?.reasons.map(({ id }) => id)).toEqual(['f']);
  });

  it('shows only the latest form of a corrected reason, and no earlier one after that', () => {
    const corrected = [
      given(stop, { id: 'set-up', status: 'deferred', madeAt: 1 }),
      given(stop, { id: 'tool change', status: 'applied', settledAtMs: 0, madeAt: 2 }),
      given(stop, { id: 'break', status: 'applied', settledAtMs: 0, madeAt: 3 }),
    ];
    const idsAt = (nowMs: number): string[] =>
      stopRows([tile('M-1', [])], corrected, nowMs).flatMap(({ reasons }) =>
        reasons.map(({ id }) => id),
      );
    expect(idsAt(0)).toEqual(['break']);
    expect(idsAt(60_000)).toEqual([]);
  });

  it('shows a refused correction beside the reason that still applies', () => {
    const applied = given(stop, { id: 'set-up', status: 'applied', settledAtMs: 0 });
    const refused = given(stop, { id: 'break', status: 'rejected', settledAtMs: 0, madeAt: 1 });
    const [row] = stopRows([tile('M-1', [])], [applied, refused], 0);
    expect(row?.reasons.map(({ id }) => id)).toEqual(['set-up', 'break']);
  });

  it('removes an applied reason a minute after its outcome', () => {
    const applied = given(stop, { status: 'applied', settledAtMs: 0 });
    expect(stopRows([tile('M-1', [])], [applied], 59_999)).toHaveLength(1);
    expect(stopRows([tile('M-1', [])], [applied], 60_000)).toEqual([]);
    // the device's clock was set back
    expect(stopRows([tile('M-1', [])], [applied], -60_000)).toEqual([]);
  });

  it('shows entries of machines without a tile', () => {
    expect(stopRows([], [given(stop)], 0)).toHaveLength(1);
  });

  it('is sorted by start, or by length', () => {
    const rows = stopRows(
      [tile('M-1', [stop]), tile('M-2', [{ startTime: 1200, endTime: null, state: 'OFF' }])],
      [],
      0,
    );
    const keys = (order: 'newest' | 'longest'): string[] =>
      [...rows].sort(compareRows(order, 1500)).map(({ key }) => key);
    expect(keys('newest')).toEqual(['M-2|1200', 'M-1|600']);
    expect(keys('longest')).toEqual(['M-1|600', 'M-2|1200']);
  });

  it('keeps its rows while someone is about to tap: none are inserted or removed', () => {
    const rows = stopRows([tile('M-1', [stop]), tile('M-2', [stop])], [], 0);
    const later = stopRows([tile('M-2', [stop]), tile('M-3', [stop])], [], 0);
    const { rows: held, more } = heldRows(rows, later);
    expect(held.map(({ key, unexplained }) => [key, unexplained.length])).toEqual([
      ['M-1|600', 0],
      ['M-2|600', 1],
    ]);
    expect(more).toBe(1);
  });
});
