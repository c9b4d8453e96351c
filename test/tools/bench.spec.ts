import { join, resolve } from 'node:path';
import { evaluate } from '../support/evaluate.js';

const BENCH = resolve(import.meta.dirname, '../../tools/bench');

describe('the statistics of the bench', () => {
  it('takes a rate without the slow beginning and end', async () => {
    const ofOneEnd = Array.from({ length: 10 }, (_, index) => 1000 * index);
    const between = Array.from({ length: 80 }, (_, index) => 20_000 + 10 * index);
    const times = [...ofOneEnd, ...between, ...ofOneEnd.map((ms) => 20_800 + ms)];
    const expression = `steadyRatePerSecond(${JSON.stringify(times)}.map((atMs) => ({ atMs })))`;

    expect(await evaluate('bench/outcomes.mjs', 'steadyRatePerSecond', expression)).toBe(100);
  });

  it('holds the median of the rounds against the target', async () => {
    const rows = await evaluate(
      'bench/figures.mjs',
      'Figures',
      `(() => {
        const figures = new Figures();
        for (const rate of [90, 200, 100]) figures.add('a case', 'rate', rate, { atLeast: 101 });
        for (const cost of [90, 200, 100]) figures.add('a case', 'cost', cost, { atMost: 100 });
        figures.add('a case', 'not to be had here', NaN);
        return figures.rows().map(({ figure, median, met }) => [figure, median, met]);
      })()`,
    );

    expect(rows).toEqual([
      ['rate', 100, false],
      ['cost', 100, true],
    ]);
  });
});

describe('the check of what the bridge did', () => {
  function faults(
    ...outcomes: [offset: number, kind: string, machineId?: string][]
  ): Promise<unknown> {
    const records = outcomes.map(([offset, kind, machineId = 'M-1']) => {
      return {
        partition: 0,
        offset,
        kind,
        machineId,
        code: kind === 'rejected' ? 'too-bad' : null,
      };
    });
    const expected = `{ ends: [2], mayBeRejected: new Set(['M-bad']) }`;
    return evaluate(
      'bench/outcomes.mjs',
      'faultsOf',
      `faultsOf(${JSON.stringify(records)}, ${expected})`,
    );
  }

  it('is content when each message has one final outcome', async () => {
    expect(await faults([0, 'deferred'], [0, 'applied'], [1, 'superseded'])).toEqual([]);
    expect(await faults([0, 'applied'], [1, 'rejected', 'M-bad'])).toEqual([]);
  });

  it.each([
    [
      'a message without one',
      [0, 'applied'],
      [1, 'deferred'],
      '1 messages without a final outcome',
    ],
    ['one from nowhere', [2, 'applied'], [0, 'applied'], 'an outcome of 0:2, which nobody sent'],
    ['a good machine that is rejected', [0, 'rejected'], [1, 'applied'], 'M-1 rejected: too-bad'],
  ] as const)('finds %s', async (_, first, second, fault) => {
    expect(await faults([...first], [...second])).toContain(fault);
  });

  it('finds a message with two', async () => {
    expect(await faults([0, 'applied'], [0, 'applied'], [1, 'applied'])).toEqual([
      '1 messages with more than one final outcome',
    ]);
  });

  it('finds calls that overlap or come out of order', async () => {
    const report = await evaluate(
      'bench/service-stub/write-audit.mjs',
      'WriteAudit',
      `(() => {
        const audit = new WriteAudit();
        const [first, second] = [1, 2].map((ordinal) => [{ machineId: 'M-1', ordinal }]);
        audit.begin(second);
        audit.begin([{ machineId: 'M-1', ordinal: 3 }]);
        audit.end(second, true);
        audit.begin(first);
        return audit.report();
      })()`,
    );

    expect(report).toMatchObject({ overlaps: 1, disorders: 1, calls: 1, peakInFlight: 2 });
  });
});

describe('the machines of the stub', () => {
  it('have their updates at all times of the minute', async () => {
    const updates = (await evaluate(
      'bench/states/plant.mjs',
      'latestUpdateSeconds',
      'Array.from({ length: 600 }, (_, machine) => latestUpdateSeconds(machine, 6059, 60))',
    )) as number[];
    const perSecond = new Map<number, number>();
    for (const update of updates) perSecond.set(update, (perSecond.get(update) ?? 0) + 1);

    expect([...perSecond.keys()].sort((a, b) => a - b)).toEqual(
      Array.from({ length: 60 }, (_, second) => 6000 + second),
    );
    expect(Math.max(...perSecond.values())).toBeLessThanOrEqual(12);
  });

  it('show a change from the next update on, and in the log what they have shown', async () => {
    const [hour, before, after, log] = (await evaluate(
      'bench/service-stub/machine-timelines.mjs',
      'MachineTimelines',
      `(() => {
        const timelines = new MachineTimelines({ machines: 40, updateSeconds: 60 });
        const hour = Math.floor(Date.now() / 3600_000) * 3600;
        const now = hour + 59;
        const window = { startTime: now - 600, endTime: now + 180 };
        timelines.change({ first: 0 }, now);
        return [
          hour,
          [0, 1, 20].map((machine) => timelines.state(machine, now).shownChanges),
          [0, 1, 20].map((machine) => timelines.state(machine, now + 180)),
          timelines.activity(0, window, now + 180),
        ];
      })()`,
    )) as [number, number[], { shownChanges: number; body: unknown }[], unknown[]];

    expect(before).toEqual([0, 0, 0]);
    expect(after.map(({ shownChanges }) => shownChanges)).toEqual([1, 0, 1]);
    // updated at the full minute: shown from one on, it began with the minute before
    expect(after[0]?.body).toEqual({
      machineState: 'IDLE',
      durationInMinutes: 3,
      astUpdateTime: hour + 180,
    });
    expect(log).toMatchObject([
      { machineState: 'OPERATING', endTime: hour },
      { machineState: 'IDLE', startTime: hour, endTime: hour + 180, durationInMinutes: 3 },
    ]);
  });

  it('notice two calls for one of them at a time, and who called', async () => {
    const [report, overlaps, polls] = (await evaluate(
      'bench/service-stub/poll-audit.mjs',
      'PollAudit',
      `await (async () => {
        const { pollsFrom } = await import(${JSON.stringify(join(BENCH, 'states/poll-log.mjs'))});
        const audit = new PollAudit(3);
        audit.begin({ machine: 0, shownChanges: 0 }, 'a')();
        audit.begin({ machine: 1, shownChanges: 2 }, 'b')();
        const { pollOverlaps, ...report } = audit.report(1);
        audit.begin({ machine: 1, shownChanges: 3 }, 'b');
        audit.begin({ machine: 1 }, 'b');
        const { buffer, byteOffset, byteLength } = audit.log();
        const { machine, caller, shownChanges, answeredMs } = pollsFrom(
          buffer.slice(byteOffset, byteOffset + byteLength),
        );
        const polls = [machine, caller, shownChanges, answeredMs.map((ms) => Math.sign(ms))];
        return [report, [pollOverlaps, audit.report(1).pollOverlaps], polls.map((it) => [...it])];
      })()`,
    )) as unknown[];

    expect(report).toEqual({ polls: 2, activityLogs: 0, machinesPolled: 2, callers: ['a', 'b'] });
    expect(overlaps).toEqual([0, 1]);
    expect(polls).toEqual([
      [0, 1, 1],
      [0, 1, 1],
      [0, 2, 3],
      [1, 1, 0],
    ]);
  });
});

describe('how polls are judged', () => {
  type Poll = [machine: number, atMs: number, caller?: number];

  function polls(...rows: Poll[]): string {
    return JSON.stringify({
      length: rows.length,
      machine: rows.map(([machine]) => machine),
      arrivedMs: rows.map(([, atMs]) => atMs),
      caller: rows.map(([, , caller = 0]) => caller),
    });
  }

  it('counts turns that a machine has missed, also the last and all of them', async () => {
    const given = polls([0, 59_000], [1, 1000], [0, 119_500], [1, 181_000], [0, 179_500]);
    const options = '{ machines: 3, intervalMs: 60_000, fromMs: 0, toMs: 360_000 }';
    const turns = await evaluate(
      'bench/states/poll-turns.mjs',
      'pollTurns',
      `pollTurns(${given}, ${options})`,
    );

    // two of machine 0 after its last, two of machine 1 before and two after its last, five of machine 2
    expect(turns).toMatchObject({ count: 5, gaps: [60.5, 180, 60], missed: 2 + 2 + 2 + 5 });
  });

  it('finds when a new process began to poll, and when it did so at the full rate', async () => {
    const rows = [0, 1500, 3000, 3400, 3800, 4200, 4600].map((ms): Poll => [0, ms, 1]);
    const given = polls([0, 0, 0], [0, 100, 0], [0, 200, 0], ...rows);
    const rate = (perSecond: number): string =>
      `fullRateMs(${given}, 1, { perSecond: ${perSecond}, forMs: 2000 })`;
    const expression = `[firstPollMs(${given}, 1), ${rate(2.5)}, ${rate(5)}]`;

    expect(
      await evaluate('bench/states/poll-turns.mjs', 'firstPollMs, fullRateMs', expression),
    ).toEqual([0, 3000, null]);
  });

  it('distinguishes machines that have moved from those that have not', async () => {
    const given = polls(
      [0, 900, 0],
      [1, 950, 0],
      [2, 960, 0],
      [0, 2900, 1],
      [1, 3000],
      [2, 8000, 1],
    );
    const expression = `(() => {
      const { shares, ...waits } = pollsAcross(${given}, { machines: 3, fromMs: 1000 });
      return { ...waits, shares, percent: unevenness(shares) };
    })()`;

    expect(
      await evaluate('bench/states/polls-across.mjs', 'pollsAcross, unevenness', expression),
    ).toEqual({
      moved: [2000, 7040],
      stayed: [2050],
      shares: [2, 1],
      percent: expect.closeTo(33.3, 1) as number,
    });
  });

  it("takes the limit that the bridge's own count shows between two readings", async () => {
    const reading = (...counts: number[]): string =>
      JSON.stringify(counts.map((count, index) => ({ limit: index + 1, count })));
    const expression = `[0.5, 0.99].map((q) =>
      bucketQuantile(${reading(900, 900, 900)}, ${reading(960, 999, 1000)}, q))`;

    expect(await evaluate('bench/states/lateness.mjs', 'bucketQuantile', expression)).toEqual([
      1, 2,
    ]);
  });
});

describe('the check of what the bridge published', () => {
  type Event = [machine: number, sequence: number, state: string, type?: string];

  function events(...rows: Event[]): string {
    return JSON.stringify(
      rows.map(([machine, sequence, state, type = 'machine.state.changed.v1'], index) => {
        return { machine, sequence, state, type, atMs: 60_000 + 1000 * index };
      }),
    );
  }

  function faults(...rows: Event[]): Promise<unknown> {
    const expected = '{ machines: 2, changes: (machine) => (machine === 0 ? 1 : 0) }';
    const expression = `faultsOfEvents(${events(...rows)}, ${expected})`;
    return evaluate('bench/states/change-events.mjs', 'faultsOfEvents', expression);
  }

  const [first, other, change]: Event[] = [
    [0, 1, 'OPERATING'],
    [1, 1, 'OPERATING'],
    [0, 2, 'IDLE'],
  ] as const;

  it('is content when each change was published once, corrected or not', async () => {
    expect(await faults(first, other, change)).toEqual([]);
    expect(
      await faults(first, other, change, [0, 3, 'IDLE', 'machine.state.corrected.v1']),
    ).toEqual([]);
  });

  it.each<[string, Event[], string]>([
    ['a change that is missing', [], 'machines with too few changes, such as M-00001'],
    ['one published twice', [change, [0, 3, 'IDLE']], 'too many changes, such as M-00001'],
    ['a number left out', [[0, 3, 'IDLE']], '1 events out of sequence, such as M-00001'],
    [
      'a state that was never shown',
      [[0, 2, 'OFF']],
      '1 events of the wrong state, such as M-00001',
    ],
    [
      'a machine lost from sight',
      [change, [1, 2, 'OPERATING', 'machine.observation.lost.v1']],
      '1 events of type machine.observation.lost.v1, such as M-00002',
    ],
  ])('finds %s', async (_, rows, fault) => {
    expect(await faults(first, other, ...rows)).toContainEqual(expect.stringContaining(fault));
  });

  it('takes the time of a change from the answer that showed it first', async () => {
    const polls = JSON.stringify({
      length: 3,
      machine: [0, 0, 0],
      shownChanges: [0, 1, 1],
      arrivedMs: [10_000, 61_480, 61_900],
      answeredMs: [10_020, 61_500, 61_920],
    });
    const expression = `publicationSeconds(${events(first, other, change)}, ${polls}, {
      fromMs: 61_000,
      updateSeconds: 60,
    })`;

    expect(
      await evaluate('bench/states/change-events.mjs', 'publicationSeconds', expression),
    ).toEqual({
      sinceAnswer: [0.5],
      sinceUpdate: [2],
    });
  });
});
