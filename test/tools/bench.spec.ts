import { tool, type ToolClass, type ToolFunction } from '../support/tool.js';

const { faultsOf, steadyRatePerSecond } =
  await tool<Record<'faultsOf' | 'steadyRatePerSecond', ToolFunction>>('bench/outcomes.mjs');
const { faultsOfEvents, publicationSeconds } = await tool<
  Record<'faultsOfEvents' | 'publicationSeconds', ToolFunction>
>('bench/states/change-events.mjs');
const { pollTurns, firstPollMs, fullRateMs } = await tool<
  Record<'pollTurns' | 'firstPollMs' | 'fullRateMs', ToolFunction>
>('bench/states/poll-turns.mjs');

describe('the statistics of the bench', () => {
  it('takes a rate without the slow beginning and end', () => {
    const ofOneEnd = Array.from({ length: 10 }, (_, index) => 1000 * index);
    const between = Array.from({ length: 80 }, (_, index) => 20_000 + 10 * index);
    const times = [...ofOneEnd, ...between, ...ofOneEnd.map((ms) => 20_800 + ms)];

    expect(steadyRatePerSecond(times.map((atMs) => ({ atMs })))).toBe(100);
  });

  it('compares the median of the rounds with the target', async () => {
    const { Figures } = await tool<{ Figures: ToolClass<'add' | 'rows'> }>('bench/figures.mjs');
    const figures = new Figures();
    for (const rate of [90, 200, 100]) figures.add('a case', 'rate', rate, { atLeast: 101 });
    for (const cost of [90, 200, 100]) figures.add('a case', 'cost', cost, { atMost: 100 });
    figures.add('a case', 'not to be had here', NaN);

    expect(figures.rows()).toMatchObject([
      { figure: 'rate', median: 100, met: false },
      { figure: 'cost', median: 100, met: true },
    ]);
  });
});

describe('the check of what the bridge did', () => {
  function faults(...outcomes: [offset: number, kind: string, machineId?: string][]): unknown {
    const records = outcomes.map(([offset, kind, machineId = 'M-1']) => {
      const code = kind === 'rejected' ? 'too-bad' : null;
      return { partition: 0, offset, kind, machineId, code };
    });
    return faultsOf(records, { ends: [2], mayBeRejected: new Set(['M-bad']) });
  }

  it('finds no fault when each message has one final outcome', () => {
    expect(faults([0, 'deferred'], [0, 'applied'], [1, 'superseded'])).toEqual([]);
    expect(faults([0, 'applied'], [1, 'rejected', 'M-bad'])).toEqual([]);
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
  ] as const)('finds %s', (_, first, second, fault) => {
    expect(faults([...first], [...second])).toContain(fault);
  });

  it('finds a message with two final outcomes', () => {
    expect(faults([0, 'applied'], [0, 'applied'], [1, 'applied'])).toEqual([
      '1 messages with more than one final outcome',
    ]);
  });

  it('finds calls that overlap or come out of order', async () => {
    const { WriteAudit } = await tool<{ WriteAudit: ToolClass<'begin' | 'end' | 'report'> }>(
      'bench/service-stub/write-audit.mjs',
    );
    const audit = new WriteAudit();
    const [first, second, third] = [1, 2, 3].map((ordinal) => [{ machineId: 'M-1', ordinal }]);
    audit.begin(second);
    audit.begin(third);
    audit.end(second, true);
    audit.begin(first);

    expect(audit.report()).toMatchObject({
      ...{ overlaps: 1, disorders: 1, calls: 1, peakInFlight: 2 },
    });
  });
});

describe('the machines of the stub', () => {
  it('have their updates at all times of the minute', async () => {
    const { latestUpdateSeconds } = await tool<{ latestUpdateSeconds: ToolFunction<number> }>(
      'bench/states/plant.mjs',
    );
    const updates = Array.from({ length: 600 }, (_, machine) =>
      latestUpdateSeconds(machine, 6059, 60),
    );
    const perSecond = new Map<number, number>();
    for (const update of updates) perSecond.set(update, (perSecond.get(update) ?? 0) + 1);

    expect([...perSecond.keys()].sort((a, b) => a - b)).toEqual(
      Array.from({ length: 60 }, (_, second) => 6000 + second),
    );
    expect(Math.max(...perSecond.values())).toBeLessThanOrEqual(12);
  });

  it('show a change from the next update on, and log their shown states', async () => {
    const { MachineTimelines } = await tool<{
      MachineTimelines: ToolClass<'change' | 'state' | 'activity'>;
    }>('bench/service-stub/machine-timelines.mjs');
    const timelines = new MachineTimelines({ machines: 40, updateSeconds: 60 });
    const hour = Math.floor(Date.now() / 3600_000) * 3600;
    const now = hour + 59;
    timelines.change({ first: 0 }, now);
    const statesAt = (seconds: number) =>
      [0, 1, 20].map((machine) => timelines.state(machine, seconds));

    expect(statesAt(now)).toMatchObject([0, 0, 0].map((shownChanges) => ({ shownChanges })));
    expect(statesAt(now + 180)).toMatchObject([
      {
        shownChanges: 1,
        // updated at the full minute: the state shown from then on began a minute earlier
        body: { machineState: 'IDLE', durationInMinutes: 3, astUpdateTime: hour + 180 },
      },
      { shownChanges: 0 },
      { shownChanges: 1 },
    ]);
    const window = { startTime: now - 600, endTime: now + 180 };
    expect(timelines.activity(0, window, now + 180)).toMatchObject([
      { machineState: 'OPERATING', endTime: hour },
      { machineState: 'IDLE', startTime: hour, endTime: hour + 180, durationInMinutes: 3 },
    ]);
  });

  it('detect two concurrent calls for one machine, and their callers', async () => {
    const { PollAudit } = await tool<{ PollAudit: ToolClass<'begin' | 'report' | 'log'> }>(
      'bench/service-stub/poll-audit.mjs',
    );
    const { pollsFrom } = await tool<{
      pollsFrom: ToolFunction<Record<string, ArrayLike<number>>>;
    }>('bench/states/poll-log.mjs');
    const audit = new PollAudit(3);
    for (const [machine, shownChanges, caller] of [
      [0, 0, 'a'],
      [1, 2, 'b'],
    ]) {
      const answered = audit.begin({ machine, shownChanges }, caller) as () => void;
      answered();
    }
    const report = { polls: 2, activityLogs: 0, machinesPolled: 2, callers: ['a', 'b'] };
    expect(audit.report(1)).toEqual({ ...report, pollOverlaps: 0 });

    audit.begin({ machine: 1, shownChanges: 3 }, 'b');
    audit.begin({ machine: 1 }, 'b');
    expect(audit.report(1)).toMatchObject({ pollOverlaps: 1 });
    const { buffer, byteOffset, byteLength } = audit.log() as Buffer;
    const polls = pollsFrom(buffer.slice(byteOffset, byteOffset + byteLength));
    const column = (name: string) => Array.from(polls[name] ?? []);
    expect(['machine', 'caller', 'shownChanges'].map(column)).toEqual([
      [0, 1, 1],
      [0, 1, 1],
      [0, 2, 3],
    ]);
    expect(column('answeredMs').map(Math.sign)).toEqual([1, 1, 0]);
  });
});

describe('how polls are judged', () => {
  type Poll = [machine: number, atMs: number, caller?: number];

  function polls(...rows: Poll[]): object {
    return {
      length: rows.length,
      machine: rows.map(([machine]) => machine),
      arrivedMs: rows.map(([, atMs]) => atMs),
      caller: rows.map(([, , caller = 0]) => caller),
    };
  }

  it('counts the turns that a machine has missed, also the last or all', () => {
    const given = polls([0, 59_000], [1, 1000], [0, 119_500], [1, 181_000], [0, 179_500]);
    const options = { machines: 3, intervalMs: 60_000, fromMs: 0, toMs: 360_000 };

    // two of machine 0 after its last, two of machine 1 before and two after its last, five of machine 2
    expect(pollTurns(given, options)).toMatchObject({
      ...{ count: 5, gaps: [60.5, 180, 60], missed: 2 + 2 + 2 + 5 },
    });
  });

  it('finds when a new process began to poll, and when it did so at the full rate', () => {
    const rows = [0, 1500, 3000, 3400, 3800, 4200, 4600].map((ms): Poll => [0, ms, 1]);
    const given = polls([0, 0, 0], [0, 100, 0], [0, 200, 0], ...rows);
    const rate = (perSecond: number) => fullRateMs(given, 1, { perSecond, forMs: 2000 });

    expect([firstPollMs(given, 1), rate(2.5), rate(5)]).toEqual([0, 3000, NaN]);
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
    const { pollsAcross, unevenness } = await tool<
      Record<'pollsAcross' | 'unevenness', ToolFunction>
    >('bench/states/polls-across.mjs');

    expect(pollsAcross(given, { machines: 3, fromMs: 1000 })).toEqual({
      ...{ moved: [2000, 7040], stayed: [2050], shares: [2, 1] },
    });
    expect(unevenness([2, 1])).toBeCloseTo(33.3, 1);
  });

  it("reads a limit from the bridge's own count between two readings", async () => {
    const { bucketQuantile } = await tool<{ bucketQuantile: ToolFunction }>(
      'bench/states/lateness.mjs',
    );
    const reading = (...counts: number[]) =>
      counts.map((count, index) => ({ limit: index + 1, count }));
    const readings = [reading(900, 900, 900), reading(960, 999, 1000)];

    expect([0.5, 0.99].map((q) => bucketQuantile(...readings, q))).toEqual([1, 2]);
  });
});

describe('the check of what the bridge published', () => {
  type Event = [machine: number, sequence: number, state: string, type?: string];

  function events(...rows: Event[]): object[] {
    return rows.map(([machine, sequence, state, type = 'machine.state.changed.v1'], index) => {
      return { machine, sequence, state, type, atMs: 60_000 + 1000 * index };
    });
  }

  function faults(...rows: Event[]): unknown {
    const changes = (machine: number) => (machine === 0 ? 1 : 0);
    return faultsOfEvents(events(...rows), { machines: 2, changes });
  }

  const [first, other, change]: Event[] = [
    [0, 1, 'OPERATING'],
    [1, 1, 'OPERATING'],
    [0, 2, 'IDLE'],
  ] as const;

  it('finds no fault when each change was published once, corrected or not', () => {
    expect(faults(first, other, change)).toEqual([]);
    const correction: Event = [0, 3, 'IDLE', 'machine.state.corrected.v1'];
    expect(faults(first, other, change, correction)).toEqual([]);
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
  ])('finds %s', (_, rows, fault) => {
    expect(faults(first, other, ...rows)).toContainEqual(expect.stringContaining(fault));
  });

  it('measures a change from the answer that showed it first', () => {
    const polls = {
      ...{ length: 3, machine: [0, 0, 0], shownChanges: [0, 1, 1] },
      ...{ arrivedMs: [10_000, 61_480, 61_900], answeredMs: [10_020, 61_500, 61_920] },
    };
    const options = { fromMs: 61_000, updateSeconds: 60 };

    expect(publicationSeconds(events(first, other, change), polls, options)).toEqual({
      ...{ sinceAnswer: [0.5], sinceUpdate: [2] },
    });
  });
});
