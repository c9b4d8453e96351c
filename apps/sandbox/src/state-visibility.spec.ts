import { NOW, type RunningSandbox, runSandbox, SHIFT_END } from './testing/running-sandbox.js';

const MACHINE = 'M-001';
const OPTIONS = {
  durationJitter: false,
  tokenLifetimeSeconds: null,
  clipActivityLog: true,
  clockOffsetSeconds: 0,
  dateHeader: true,
};

interface State {
  machineState: string;
  durationInMinutes: number;
  astUpdateTime: number;
}

describe('states and classifications as time passes', () => {
  let sandbox: RunningSandbox;
  beforeAll(async () => {
    sandbox = await runSandbox();
  });
  afterAll(() => sandbox.close());
  afterEach(async () => {
    sandbox.clock.set(NOW);
    const undone = [
      await sandbox.control('DELETE', 'faults'),
      await sandbox.control('PUT', 'options', OPTIONS),
      await force({ state: null, from: 0 }),
    ];
    expect(undone.filter(({ status }) => status >= 300)).toEqual([]);
  });

  const force = (body: object) => sandbox.control('POST', `machines/${MACHINE}/state`, body);
  const stateNow = async () =>
    (await sandbox.service('GET', `machineState?machineId=${MACHINE}`)).json as State;
  const report = async () =>
    (await sandbox.control('GET', `machines/${MACHINE}`)).json as {
      classifications: object[];
      forcedState: string | null;
    };
  const classify = (body: object) =>
    sandbox.service('POST', 'machineClassification', {
      body: { machineId: MACHINE, reasonId: '22', ...body },
    });

  it('apply an open-ended classification to the end of the current shift', async () => {
    await classify({ startTime: NOW - 60 });
    const open = { startTime: NOW - 60, openEnded: true };
    expect((await report()).classifications).toEqual([
      { ...open, endTime: SHIFT_END, reasonId: '22', sequence: expect.any(Number) as number },
    ]);
  });

  it('become visible 1 to 2 minutes after their minute began, with a duration up to the latest update', async () => {
    await force({ state: 'OFF', from: NOW - 3600 });
    await force({ state: 'OPERATING', from: NOW });
    sandbox.clock.set(NOW + 59);
    expect((await stateNow()).machineState).toBe('OFF');
    let shownAfter = 59;
    while (shownAfter <= 120 && (await stateNow()).machineState === 'OFF') {
      sandbox.clock.set(NOW + (shownAfter += 1));
    }
    expect(shownAfter).toBeLessThanOrEqual(120);
    expect(await stateNow()).toEqual({
      machineState: 'OPERATING',
      durationInMinutes: 1,
      astUpdateTime: NOW + shownAfter,
    });
    sandbox.clock.advance(600);
    const { durationInMinutes, astUpdateTime } = await stateNow();
    expect(durationInMinutes).toBe(Math.floor((astUpdateTime - NOW) / 60));
  });

  it('may be forced to no data, and released', async () => {
    const own = await stateNow();
    await force({ state: 'NO_DATA', from: NOW - 3600 });
    expect((await report()).forcedState).toBe('NO_DATA');
    const answer = await sandbox.service('GET', `machineState?machineId=${MACHINE}`);
    expect(answer.status).toBe(204);
    await force({ state: null, from: NOW - 3600 });
    expect((await report()).forcedState).toBeNull();
    expect(await stateNow()).toEqual(own);
  });

  it.each([{}, { from: null, to: null }])(
    'are forced from now on without a time: %j',
    async (times) => {
      const truth = async (from: number, to: number) =>
        (await sandbox.control('GET', `machines/${MACHINE}/timeline?from=${from}&to=${to}`)).json;
      const past = await truth(NOW - 86_400, NOW);
      await force({ state: 'OFF', ...times });
      const forced = { startTime: NOW, endTime: NOW + 600, machineState: 'OFF' };
      expect(await truth(NOW, NOW + 600)).toEqual([forced]);
      expect(await truth(NOW - 86_400, NOW)).toEqual(past);
    },
  );

  it('may have a duration that is off by at most one minute', async () => {
    const exact = (await stateNow()).durationInMinutes;
    await sandbox.control('PUT', 'options', { durationJitter: true });
    const seen = new Set<number>();
    for (let poll = 0; poll < 40; poll += 1) seen.add((await stateNow()).durationInMinutes - exact);
    expect([...seen].sort((a, b) => a - b)).toEqual([-1, 0, 1]);
  });

  it('are cut at the edges of the window in the log, or keep their true edges with an option', async () => {
    await force({ state: 'OFF', from: NOW - 7200 });
    await force({ state: 'IDLE', from: NOW - 3600 });
    await force({ state: 'OPERATING', from: NOW - 1800 });
    const body = { machineId: MACHINE, startTime: NOW - 3000, endTime: NOW - 2430 };
    const log = () => sandbox.service('POST', 'machineActivity', { body });
    expect((await log()).json).toEqual([
      { startTime: NOW - 3000, endTime: NOW - 2430, machineState: 'IDLE', durationInMinutes: 9 },
    ]);
    await sandbox.control('PUT', 'options', { clipActivityLog: false });
    expect((await log()).json).toEqual([
      { startTime: NOW - 3600, endTime: NOW - 1800, machineState: 'IDLE', durationInMinutes: 30 },
    ]);
    const options = { ...OPTIONS, clipActivityLog: false };
    expect((await sandbox.control('GET', 'options')).json).toEqual(options);
  });

  describe('with a service that is behind', () => {
    beforeEach(async () => {
      await force({ state: 'IDLE', from: NOW - 7200 });
      await force({ state: 'OFF', from: NOW - 1200, to: NOW - 900 });
    });

    const place = async (fault: object) => {
      expect((await sandbox.control('POST', 'faults', fault)).status).toBe(201);
    };
    const log = async () => {
      const body = { machineId: MACHINE, startTime: NOW - 3600, endTime: NOW + 3600 };
      const entries = (await sandbox.service('POST', 'machineActivity', { body })).json;
      return (entries as { machineState: string; startTime: number; endTime: number }[]).map(
        (entry) => [entry.machineState, entry.startTime - NOW, entry.endTime - NOW],
      );
    };
    // time since the end of the latest minute that is visible at NOW
    const visible = async () => (await log()).at(-1)!.at(-1) as number;

    it('ends the log earlier by its lag', async () => {
      const end = await visible();
      await place({ operation: 'getMachineActivityLog', lagSeconds: 960 });
      expect(await log()).toEqual([
        ['IDLE', -3600, -1200],
        ['OFF', -1200, end - 960],
      ]);
      sandbox.clock.advance(300);
      expect(await log()).toEqual([
        ['IDLE', -3600, -1200],
        ['OFF', -1200, -900],
        ['IDLE', -900, end - 660],
      ]);
    });

    it('shows an earlier state where getMachineState lags, for the number of calls in count', async () => {
      const state = await stateNow();
      await place({ operation: 'getMachineState', lagSeconds: 960, machineId: MACHINE, count: 1 });
      expect(await stateNow()).toMatchObject({
        machineState: 'OFF',
        astUpdateTime: state.astUpdateTime - 960,
      });
      expect(await stateNow()).toEqual(state);
    });

    it('revises the log once a change is no longer provisional', async () => {
      const end = await visible();
      await place({ operation: 'getMachineActivityLog', provisionalSeconds: 1500 });
      expect(await log()).toEqual([['IDLE', -3600, end]]);
      sandbox.clock.advance(1500);
      expect(await log()).toEqual([
        ['IDLE', -3600, -1200],
        ['OFF', -1200, -900],
        ['IDLE', -900, end + 1500],
      ]);
    });

    it('revises a span of the past, and keeps forced states before and after it', async () => {
      await force({ state: 'OPERATING', from: NOW - 1080, to: NOW - 1020 });
      await force({ state: null, from: NOW - 7200, to: NOW - 3600 });
      expect(await log()).toEqual([
        ['IDLE', -3600, -1200],
        ['OFF', -1200, -1080],
        ['OPERATING', -1080, -1020],
        ['OFF', -1020, -900],
        ['IDLE', -900, await visible()],
      ]);
      const refused = await force({ state: 'OFF', from: NOW, to: NOW });
      expect(refused.json).toMatchObject({ message: 'to must be later than from' });
    });
  });

  describe('with a clock of the service that is wrong', () => {
    const setOffset = (clockOffsetSeconds: number) =>
      sandbox.control('PUT', 'options', { clockOffsetSeconds });

    it.each([-30, -0.3, 0, 0.3, 30])('checks times by a clock that is %d s off', async (offset) => {
      await setOffset(offset);
      const statuses = [];
      for (const startTime of [NOW + Math.floor(offset), NOW + Math.floor(offset) + 1]) {
        statuses.push((await classify({ startTime })).status);
      }
      expect(statuses).toEqual([200, 422]);
    });

    it.each([-30, 0, 7200])('dates its answers by a clock that is %d s off', async (offset) => {
      await setOffset(offset);
      const expected = new Date((NOW + offset) * 1000).toUTCString();
      const answers = await Promise.all([
        sandbox.service('GET', `machineState?machineId=${MACHINE}`),
        sandbox.service('GET', 'machineState', { token: 'unknown' }),
        sandbox.service('GET', 'nowhere'),
      ]);
      expect(answers.map(({ headers }) => headers.get('date'))).toEqual(Array(3).fill(expected));
    });

    it('shows the states of the plant at its own time', async () => {
      const { astUpdateTime } = await stateNow();
      await setOffset(-600);
      expect((await stateNow()).astUpdateTime).toBe(astUpdateTime - 600);
    });

    it('sends no Date with dateHeader off', async () => {
      await sandbox.control('PUT', 'options', { dateHeader: false });
      const { headers } = await sandbox.service('GET', `machineState?machineId=${MACHINE}`);
      expect(headers.get('date')).toBeNull();
    });
  });
});
