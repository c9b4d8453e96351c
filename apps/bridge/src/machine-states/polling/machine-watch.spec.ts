import { jest } from '@jest/globals';
import { ManualClock } from '#libs/clock';
import type { MachineCloudClient } from '#libs/cloud-client';
import { STATE_EVENT_TYPES } from '#libs/contracts';
import { respond, StubService } from '../../../../../libs/http-calls/test/stub-service.js';
import { parseTrackedMachine } from '../derivation/parse-tracked-machine.js';
import type { SequencedEvent } from '../derivation/state-events.js';
import { MACHINE } from '../derivation/testing/tracked-periods.js';
import { bridgeSettings, clientOf } from '../../platform/testing/bridge-settings.js';
import { ActivityLogReader } from './activity-log-reader.js';
import { MachineWatch, type StoredMachines } from './machine-watch.js';
import { PollHealth } from './poll-health.js';
import { PollingMetrics } from './polling-metrics.js';
import { WatchContext } from './watch-context.js';

const { changed, corrected, observationRestored: restored } = STATE_EVENT_TYPES;
const T0 = 1_763_680_020;

interface Answer {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
}

describe('MachineWatch', () => {
  let service: StubService;
  let client: MachineCloudClient;
  let clock: ManualClock;
  let health: PollHealth;
  let reader: ActivityLogReader;
  let watch: MachineWatch;
  let state: Answer;
  let activity: Answer;
  let published: SequencedEvent[];
  let remembered: string;
  let partition: AbortController;
  let forgotten: string[];
  let windows: { startTime: number; endTime: number }[];
  let statesAsked: number;
  let commit: () => Promise<void>;
  let watchWith: (environment?: Record<string, string>) => MachineWatch;

  const turn = async (shown = state): Promise<void> => {
    state = shown;
    const poll = await watch.poll();
    await poll.conclude();
  };

  /** Gives the log these entries from now on. */
  const turnWithLog = (log: Answer, shown?: Answer): Promise<void> => {
    activity = log;
    return turn(shown);
  };

  const turnAt = (seconds: number, shown?: Answer): Promise<void> => {
    clock.set(seconds);
    return turn(shown);
  };

  const turnAfter = (seconds: number, shown?: Answer): Promise<void> => {
    clock.advance(seconds);
    return turn(shown);
  };

  const kinds = (): string[] =>
    published.map(({ event }) =>
      event.type === STATE_EVENT_TYPES.observationLost ? event.data.reason : event.type,
    );

  function inState(machineState: string, astUpdateTime: number, durationInMinutes: number): Answer {
    return { status: 200, body: { machineState, durationInMinutes, astUpdateTime } };
  }

  const operating = (lastUpdateTime: number, durationInMinutes: number): Answer =>
    inState('OPERATING', lastUpdateTime, durationInMinutes);

  const idle = (lastUpdateTime: number, durationInMinutes = 0): Answer =>
    inState('IDLE', lastUpdateTime, durationInMinutes);

  const eventData = () => published.map(({ event }) => event.data);

  function logged(...periods: [state: string, startTime: number, endTime: number][]): Answer {
    const body = periods.map(([machineState, startTime, endTime]) => ({
      machineState,
      startTime,
      endTime,
      durationInMinutes: Math.floor((endTime - startTime) / 60),
    }));
    return { status: 200, body };
  }

  beforeEach(async () => {
    state = operating(T0, 10);
    activity = { status: 204 };
    published = [];
    remembered = 'null';
    partition = new AbortController();
    windows = [];
    statesAsked = 0;
    forgotten = [];
    commit = () => Promise.resolve();
    service = await StubService.start();
    service.answers((request, response) => {
      const isLog = request.method === 'POST';
      if (isLog) windows.push(JSON.parse(request.body) as (typeof windows)[number]);
      else statesAsked += 1;
      const { status, body, headers } = isLog ? activity : state;
      respond(status, body, headers)(request, response);
    });
    clock = new ManualClock((T0 + 60) * 1000);
    client = clientOf(bridgeSettings({ MACHINE_CLOUD_BASE_URL: service.baseUrl }), clock);
    health = new PollHealth(clock);
    watchWith = (environment = {}) => {
      const settings = bridgeSettings(environment);
      reader = new ActivityLogReader(client, settings, clock);
      const metrics = new PollingMetrics();
      const reasons = { forgetReasons: (machineId: string) => forgotten.push(machineId) };
      const context = new WatchContext(settings, clock, client, reader, health, metrics, reasons);
      const stored: StoredMachines = {
        isOverdue: () => false,
        get: () => parseTrackedMachine(JSON.parse(remembered)),
        publishDerivation: async ({ events, next }) => {
          await commit();
          published.push(...events);
          remembered = JSON.stringify(next);
        },
      };
      return new MachineWatch(MACHINE, stored, context, partition.signal);
    };
    watch = watchWith();
  });

  afterEach(async () => {
    watch.endWatch();
    await client.closeConnections();
    await service.stop();
  });

  it.each([
    [503, 'unreachable'],
    [404, 'unreachable'],
    [403, 'forbidden'],
  ])(
    'reports a machine as lost when %i has been the answer for too long',
    async (status, reason) => {
      await turn();
      await turnAfter(300, { status });
      expect(kinds()).toEqual([changed]);
      await turnAfter(1);
      expect(kinds()).toEqual([changed, reason]);
      expect(health.failingMachines).toBe(1);
      await turn({ status: status === 403 ? 503 : 401 });
      expect(kinds()).toEqual([changed, reason]);
      await turn(operating(T0 + 300, 15));
      expect(kinds()).toEqual([changed, reason, restored]);
      expect(health.failingMachines).toBe(0);
    },
  );

  it.each([
    [503, 'unreachable'],
    [403, 'forbidden'],
  ])(
    'reports no machine as lost before %i has been the answer for STALE_AFTER_SECONDS since operators resumed polling',
    async (status, reason) => {
      await turn();
      clock.advance(3600);
      health.recordResumed();
      await turn({ status });
      await turnAfter(300);
      expect(kinds()).toEqual([changed]);
      await turnAfter(1);
      expect(kinds()).toEqual([changed, reason]);
      expect(published.at(-1)?.event.data).toMatchObject({ since: T0 });
    },
  );

  it('makes no poll while Retry-After lasts, and publishes the loss of the machine meanwhile', async () => {
    await turnWithLog(logged(['OPERATING', T0 - 600, T0]));
    state = { status: 503, headers: { 'retry-after': '600' } };
    for (let minute = 1; minute <= 10; minute += 1) {
      await turnAfter(60);
    }
    expect(kinds()).toEqual([changed, 'unreachable']);
    expect(published.at(-1)?.event.data).toMatchObject({ detectedAt: T0 + 60 + 6 * 60 });
    expect(statesAsked).toBe(2);
    await turnAfter(60, operating(T0 + 660, 21));
    expect(kinds().at(-1)).toBe(restored);
  });

  it('still observes a machine while the Retry-After of its log lasts', async () => {
    await turnWithLog(logged(['IDLE', T0 - 660, T0 - 600], ['OPERATING', T0 - 600, T0]));
    activity = { status: 429, headers: { 'retry-after': '3600' } };
    for (let minute = 1; minute <= 7; minute += 1) {
      await turnAfter(60, idle(T0 + minute * 60, minute));
    }
    expect(windows).toHaveLength(2);
    expect(eventData()).toMatchObject([
      { state: 'OPERATING' },
      { state: 'IDLE', startTime: T0, startTimeSource: 'duration' },
    ]);
  });

  it('waits for a log that fails, but not without end', async () => {
    await turnWithLog({ status: 503 });
    expect(kinds()).toEqual([]);
    await turnAfter(301, operating(T0 + 300, 15));
    expect(kinds()).toEqual([changed]);
  });

  it('waits for it equally long after a pause by hand', async () => {
    await turnWithLog({ status: 503 });
    clock.advance(3600);
    health.recordResumed();
    await turnAfter(1, operating(T0 + 3600, 70));
    expect(kinds()).toEqual([]);
    await turnAfter(300, operating(T0 + 3900, 75));
    expect(kinds()).toEqual([changed]);
  });

  describe('that has waited for a log before', () => {
    /** Another state than before, without a log for its start. */
    const changesWithoutLog = async (minute: number): Promise<void> => {
      clock.set(T0 + (minute + 1) * 60);
      await turnWithLog({ status: 503 }, idle(T0 + minute * 60, 1));
    };

    beforeEach(async () => {
      await turnWithLog(logged(['OPERATING', T0 - 600, T0 + 60]));
      await changesWithoutLog(1);
    });

    it('waits equally long again after a turn that needed no log', async () => {
      await turnAfter(60, operating(T0 + 120, 12));
      await changesWithoutLog(5);
      await changesWithoutLog(7);
      expect(kinds()).toEqual([changed]);
    });

    it('waits equally long again after an outage', async () => {
      await turnAt(T0 + 8 * 60, { status: 503 });
      await changesWithoutLog(8);
      expect(kinds()).toEqual([changed, 'unreachable']);
    });

    it('waits no longer if polls of the state fail now and then', async () => {
      for (const minute of [2, 4, 6]) {
        await turnAt(T0 + (minute + 1) * 60, { status: 503 });
        await changesWithoutLog(minute + 1);
      }
      expect(kinds()).toEqual([changed, changed]);
    });
  });

  it('reads a log that it did without at every turn, until it is answered', async () => {
    await turnWithLog({ status: 503 });
    await turnAfter(301, operating(T0 + 300, 15));
    activity = logged(['IDLE', T0 - 1200, T0 - 660], ['OPERATING', T0 - 660, T0 + 360]);
    await turnAfter(60, operating(T0 + 360, 16));
    expect(kinds()).toEqual([changed, corrected]);
    expect(watch.tracked?.periods.at(-1)).toMatchObject({ startTime: T0 - 660, revision: 1 });
  });

  it.each([120, 900])(
    'treats a start as settled after SETTLE_SECONDS of %i',
    async (settleSeconds) => {
      watch = watchWith({ SETTLE_SECONDS: String(settleSeconds) });
      activity = logged(['IDLE', T0 - 1200, T0 - 60], ['OPERATING', T0 - 60, T0]);
      let minute = 0;
      for (; windows.length < 2 && minute < 30; minute += 1) {
        const update = T0 + minute * 60;
        clock.set(update + 60);
        await turnWithLog(
          logged(['IDLE', T0 - 1200, T0 - 60], ['OPERATING', T0 - 60, update]),
          operating(update, minute + 1),
        );
      }
      const latestUpdate = T0 + (minute - 1) * 60;
      const sinceStart = latestUpdate - (T0 - 60);
      expect(sinceStart).toBeGreaterThanOrEqual(settleSeconds);
      expect(sinceStart).toBeLessThanOrEqual(settleSeconds + 120);
      expect(watch.tracked?.settledUntil).toBe(latestUpdate - settleSeconds);
    },
  );

  it('continues without a log that was only to confirm a start, and reads it again later', async () => {
    await turnWithLog(logged(['OPERATING', T0 - 180, T0]), operating(T0, 3));
    activity = { status: 503, headers: { 'retry-after': '3' } };
    await turnAfter(300, operating(T0 + 300, 8));
    expect(watch.tracked?.lastUpdateTime).toBe(T0 + 300);
    expect(health.failingMachines).toBe(0);
    activity = logged(['OPERATING', T0 - 180, T0 + 360]);
    await turnAfter(60, operating(T0 + 360, 9));
    await turn();
    expect(windows).toHaveLength(3);
  });

  it('publishes the wanted history of a new machine', async () => {
    const day = 24 * 3600;
    watch = watchWith({ BACKFILL_ON_FIRST_START_SECONDS: String(40 * day) });
    const [idle, off] = [T0 - 50 * day, T0 - 20 * day];
    await turnWithLog(
      logged(['IDLE', idle, off], ['OFF', off, T0 - 600], ['OPERATING', T0 - 600, T0]),
    );
    expect(eventData()).toMatchObject([
      { state: 'IDLE', startTime: idle, previousState: null },
      { state: 'OFF', startTime: off, previousState: 'IDLE' },
      { state: 'OPERATING', startTime: T0 - 600, previousState: 'OFF' },
    ]);
    expect(windows.map(({ startTime, endTime }) => endTime - startTime <= 30 * day)).toEqual([
      true,
      true,
    ]);
    expect(windows[0]?.startTime).toBeLessThanOrEqual(clock.nowSeconds() - 40 * day);
    expect(windows[1]).toMatchObject({
      startTime: windows[0]?.endTime,
      endTime: clock.nowSeconds(),
    });
  });

  it('says where the history begins if its first period began earlier', async () => {
    watch = watchWith({ BACKFILL_ON_FIRST_START_SECONDS: '7200' });
    const edge = clock.nowSeconds() - 7200 - 600;
    await turnWithLog(logged(['OFF', edge, T0 - 600], ['OPERATING', T0 - 600, T0]));
    expect(eventData()).toMatchObject([
      { state: 'OFF', startTime: edge, historyTruncatedBefore: edge },
      { state: 'OPERATING', startTime: T0 - 600 },
    ]);
    expect(published[1]?.event.data).not.toHaveProperty('historyTruncatedBefore');
  });

  it('says what it could not read after more than 30 days', async () => {
    await turn();
    await turn({ status: 204 });
    const later = T0 + 40 * 24 * 3600;
    clock.set(later);
    const edge = later - 30 * 24 * 3600;
    await turnWithLog(
      logged(['OFF', edge, later - 300], ['OPERATING', later - 300, later]),
      operating(later, 5),
    );
    expect(kinds()).toEqual([changed, 'noData', restored, changed, changed]);
    expect(published[2]?.event.data).toMatchObject({ historyTruncatedBefore: edge });
    expect(windows.at(-1)).toMatchObject({ startTime: edge, endTime: later });
  });

  it('says what it could not read with the first log, even after a time without one', async () => {
    await turn();
    await turn({ status: 204 });
    const later = T0 + 40 * 24 * 3600;
    const edge = later - 30 * 24 * 3600;
    activity = { status: 503 };
    for (const seconds of [0, 400]) {
      await turnAt(later + seconds, operating(later + seconds, 5));
    }
    const before = published.length;
    expect(kinds().slice(2)).toEqual([restored, changed]);
    expect(published.at(-1)?.event.data).toMatchObject({ previousEndTime: T0 });
    activity = logged(['OFF', edge, later + 160], ['OPERATING', later + 160, later + 460]);
    await turnAt(later + 460, operating(later + 460, 6));
    expect(published[before]?.event.data).toMatchObject({ historyTruncatedBefore: edge + 460 });
  });

  it('treats a logged period of an unknown state as time without data', async () => {
    await turnWithLog(logged(['OPERATING', T0 - 600, T0]));
    clock.advance(600);
    await turnWithLog(
      logged(
        ['OPERATING', T0 - 600, T0 + 120],
        ['SETUP', T0 + 120, T0 + 300],
        ['IDLE', T0 + 300, T0 + 600],
      ),
      idle(T0 + 600, 5),
    );
    expect(eventData()).toMatchObject([
      { state: 'OPERATING', startTime: T0 - 600 },
      { state: 'IDLE', startTime: T0 + 300, previousEndTime: T0 + 120 },
    ]);
    expect(reader.behindMachines).toBe(0);
  });

  it('does not pause polls because a log fails', async () => {
    activity = { status: 503 };
    const poll = await watch.poll();
    await poll.conclude();
    expect(poll.failure).toBeNull();
    expect(health.failingMachines).toBe(1);
    await turnWithLog({ status: 204 });
    expect(health.failingMachines).toBe(0);
  });

  describe('whose log gives an odd answer', () => {
    const ODD: [string, Answer][] = [
      ['401', { status: 401 }],
      ['403', { status: 403 }],
      ['404', { status: 404 }],
      ['204', { status: 204 }],
      ['an empty list', { status: 200, body: [] }],
    ];
    const HOUR = 3600;

    /** OFF for an hour that no poll saw, and OPERATING again for ten minutes. */
    const afterOutage = (): { now: number; log: Answer } => {
      const now = T0 + 3 * HOUR;
      const [off, on] = [T0 + HOUR, T0 + 2 * HOUR];
      const back = now - 600;
      const log = logged(
        ['OPERATING', T0 - 600, off],
        ['OFF', off, on],
        ['IDLE', on, back],
        ['OPERATING', back, now + 61 * 60],
      );
      return { now, log };
    };

    const pollAt = async (now: number, since: number): Promise<void> => {
      await turnAt(now + 60, operating(now, Math.floor((now - since) / 60)));
    };

    beforeEach(async () => {
      await turnWithLog(logged(['OPERATING', T0 - 600, T0]));
      published = [];
      windows = [];
    });

    it.each(ODD)(
      'publishes from the duration, and from the log later, after %s',
      async (_, odd) => {
        const { now, log } = afterOutage();
        activity = odd;
        await pollAt(now, now - 600);
        const byDuration = { startTime: now - 600, startTimeSource: 'duration' };
        expect(eventData()).toMatchObject([{ ...byDuration, previousEndTime: T0 }]);
        activity = log;
        await pollAt(now + 60, now - 600);
        expect(watch.tracked).toMatchObject({ unreadFrom: null });
        expect(eventData()).toMatchObject([
          { state: 'OPERATING', startTime: now - 600 },
          { state: 'OFF', startTime: T0 + HOUR, previousStartTime: T0 - 600 },
          { state: 'IDLE', startTime: T0 + 2 * HOUR },
          { state: 'OPERATING', startTime: now - 600, previousState: 'IDLE', revision: 1 },
        ]);
        expect(published[3]?.event.data).not.toHaveProperty('previousEndTime');
      },
    );

    it('reads it again after 1, 5, 15 and 60 minutes, and every hour from then on', async () => {
      const { now } = afterOutage();
      activity = { status: 404 };
      const asked: number[] = [];
      for (let minute = 0; minute <= 210; minute += 1) {
        const before = windows.length;
        await pollAt(now + minute * 60, now - 600);
        if (windows.length > before) asked.push(minute);
      }
      expect(asked).toEqual([0, 1, 6, 21, 81, 141, 201]);
    });

    it('still reads it again after a restart', async () => {
      const { now, log } = afterOutage();
      activity = { status: 204 };
      await pollAt(now, now - 600);
      for (const minute of [1, 2, 3]) await pollAt(now + minute * 60, now - 600);
      watch = watchWith();
      activity = log;
      await pollAt(now + 240, now - 600);
      expect(eventData()).toContainEqual(
        expect.objectContaining({ state: 'OFF', startTime: T0 + HOUR }),
      );
    });

    it('publishes the missed periods after forty changes without a log', async () => {
      const { now } = afterOutage();
      activity = { status: 403 };
      await pollAt(now, now - 600);
      const [off, on] = [T0 + HOUR, T0 + 2 * HOUR];
      const periods: [state: string, startTime: number, endTime: number][] = [
        ['OPERATING', T0 - 600, off],
        ['OFF', off, on],
        ['OPERATING', on, now],
      ];
      const end = now + 40 * 180;
      for (let start = now; start < end; start += 180) {
        const machineState = start % 360 === now % 360 ? 'IDLE' : 'OPERATING';
        periods.push([machineState, start, start + 180]);
        await turnAt(start + 180, inState(machineState, start + 120, 2));
      }
      published = [];
      activity = logged(...periods, ['OPERATING', end, end + 2 * HOUR]);
      await pollAt(end + HOUR, end);
      expect(eventData()).toContainEqual(
        expect.objectContaining({ state: 'OFF', startTime: off, previousStartTime: T0 - 600 }),
      );
    });

    it('reads it at once when there is a change', async () => {
      const { now } = afterOutage();
      activity = { status: 404 };
      for (const minute of [0, 1, 2]) await pollAt(now + minute * 60, now - 600);
      const before = windows.length;
      await turnAt(now + 240, idle(now + 180, 1));
      expect(windows).toHaveLength(before + 1);
    });

    it('publishes the wanted history of a new machine as soon as the log has it', async () => {
      remembered = 'null';
      watch = watchWith({ BACKFILL_ON_FIRST_START_SECONDS: String(3 * HOUR) });
      const { now, log } = afterOutage();
      activity = { status: 404 };
      await pollAt(now, now - 600);
      expect(published).toHaveLength(1);
      activity = log;
      for (const minute of [1, 2, 3, 4, 5, 6]) await pollAt(now + minute * 60, now - 600);
      const versions = published.map(({ event }) => event.data);
      expect(versions).toMatchObject([
        { state: 'OPERATING', startTime: now - 600, previousState: null },
        { state: 'OPERATING', startTime: T0 - 600, previousState: null },
        { state: 'OFF', startTime: T0 + HOUR, previousState: 'OPERATING' },
        { state: 'IDLE', startTime: T0 + 2 * HOUR, previousState: 'OFF' },
        { state: 'OPERATING', startTime: now - 600, previousState: 'IDLE', revision: 1 },
      ]);
    });
  });

  it('notices a log that lags by more than it takes to settle, and settles nothing beyond its end', async () => {
    await turnWithLog(logged(['OPERATING', T0 - 600, T0]));
    const now = T0 + 3600;
    clock.set(now + 60);
    await turnWithLog(logged(['OPERATING', T0 - 600, T0 + 60]), idle(now, 30));
    expect(reader.behindMachines).toBe(1);
    expect(watch.tracked).toMatchObject({ settledUntil: T0 + 59, unreadFrom: T0 + 60 });
    activity = logged(['OPERATING', T0 - 600, now - 1800], ['IDLE', now - 1800, now + 60]);
    await turnAt(now + 120, idle(now + 60, 31));
    expect(reader.behindMachines).toBe(0);
    expect(watch.tracked).toMatchObject({ settledUntil: now - 240, unreadFrom: null });
  });

  describe('of a service whose update time is ahead of our clock', () => {
    const HOUR = 3600;
    const TEN_YEARS = 10 * 365 * 24 * HOUR;

    /** A record of an earlier release, stored after one reading in the future. */
    const remembersFuture = async (): Promise<void> => {
      await turn();
      const times = { lastUpdateTime: T0 + TEN_YEARS, lostSince: null };
      remembered = JSON.stringify({ ...JSON.parse(remembered), ...times });
      published = [];
      watch = watchWith();
    };

    it.each([301, HOUR, TEN_YEARS])(
      'publishes the next change after one reading that is %i s ahead',
      async (ahead) => {
        await turn();
        await turnAfter(60, operating(T0 + 120 + ahead, 11));
        expect(watch.tracked?.lastUpdateTime).toBe(T0 + 120);
        await turnAfter(60, idle(T0 + 120));
        expect(eventData()).toMatchObject([
          { state: 'OPERATING', startTime: T0 - 600 },
          { state: 'IDLE', startTime: T0 + 120, detectedAt: T0 + 180 },
        ]);
      },
    );

    it('publishes the next change after a restart even if the stored time is slightly ahead', async () => {
      await turn(operating(T0 + 60 + 300, 10));
      watch = watchWith();
      await turnAfter(60, idle(T0 + 120 + 301));
      expect(eventData()).toMatchObject([{ state: 'OPERATING' }, { state: 'IDLE' }]);
      expect(watch.tracked?.lastUpdateTime).toBe(T0 + 361);
    });

    it('begins with no state that starts in the future, and reports no loss later than its detection', async () => {
      await turn(operating(T0 + TEN_YEARS, 10));
      await turnAfter(60, { status: 204 });
      expect(eventData()).toMatchObject([
        { startTime: T0 + 60 - 600, detectedAt: T0 + 60 },
        { since: T0 + 60, detectedAt: T0 + 120 },
      ]);
    });

    it('reports a service that stands still there as stale', async () => {
      await turn(operating(T0 + HOUR, 10));
      await turnAfter(300);
      expect(kinds()).toEqual([changed]);
      await turnAfter(1);
      expect(kinds()).toEqual([changed, 'stale']);
    });

    it('publishes changes even if it is always an hour ahead, and warns once', async () => {
      const reportAhead = jest.spyOn(health, 'reportAhead');
      await turn(operating(T0 + HOUR, 10));
      await turnAfter(60, idle(T0 + HOUR + 60));
      await turnAfter(60, operating(T0 + HOUR + 120, 0));
      expect(eventData()).toMatchObject([
        { state: 'OPERATING', startTime: T0 + 60 - 600 },
        { state: 'IDLE', startTime: T0 + 120 },
        { state: 'OPERATING', startTime: T0 + 180 },
      ]);
      expect(reportAhead.mock.calls).toEqual([['M-1', T0 + HOUR]]);
    });

    it('publishes the next change even if a time in the future was stored', async () => {
      await remembersFuture();
      await turnAfter(60, idle(T0 + 60));
      expect(eventData()).toMatchObject([{ state: 'IDLE', startTime: T0 + 60 }]);
      expect(watch.tracked?.lastUpdateTime).toBe(T0 + 60);
    });

    it('reports no loss later than its detection even if a time in the future was stored', async () => {
      await remembersFuture();
      await turn({ status: 204 });
      expect(eventData()).toMatchObject([{ since: T0 + 60, detectedAt: T0 + 60 }]);
    });

    describe('because ours is an hour behind, as the dates of its answers show', () => {
      const dated = (answer: Answer): Answer => {
        const date = new Date(clock.nowMs() + HOUR * 1000).toUTCString();
        return { ...answer, headers: { date } };
      };

      it('publishes when states began by its clock', async () => {
        await turn(dated(operating(T0 + HOUR, 10)));
        await turnAfter(60, dated(idle(T0 + HOUR + 60)));
        expect(eventData()).toMatchObject([
          { state: 'OPERATING', startTime: T0 + HOUR - 600, detectedAt: T0 + 60 },
          { state: 'IDLE', startTime: T0 + HOUR + 60, detectedAt: T0 + 120 },
        ]);
        expect(watch.tracked?.lastUpdateTime).toBe(T0 + HOUR + 60);
      });

      it('replaces a time ahead of the service’s own clock by that clock', async () => {
        await turn(dated(operating(T0 + TEN_YEARS, 10)));
        expect(eventData()).toMatchObject([{ startTime: T0 + 60 + HOUR - 600 }]);
      });
    });

    it('does not change readings because a gateway is an hour behind', async () => {
      const date = new Date((T0 - HOUR) * 1000).toUTCString();
      await turn({ ...operating(T0, 10), headers: { date } });
      expect(eventData()).toMatchObject([{ startTime: T0 - 600 }]);
    });

    it('accepts the time of a clock that is slightly ahead', async () => {
      await turn(operating(T0 + 60 + 300, 10));
      await turnAfter(60, idle(T0 + 120 + 300));
      expect(watch.tracked?.lastUpdateTime).toBe(T0 + 420);
      expect(eventData()).toMatchObject([
        { state: 'OPERATING', startTime: T0 + 360 - 600 },
        { state: 'IDLE', startTime: T0 + 420 },
      ]);
    });
  });

  it('judges an answer by its arrival, however long it waited for publication', async () => {
    state = operating(T0, 10);
    activity = logged(['OPERATING', T0 - 600, T0]);
    const poll = await watch.poll();
    clock.advance(400);
    await poll.conclude();
    expect(kinds()).toEqual([changed]);
    expect(published[0]?.event.data).toMatchObject({ detectedAt: T0 + 60 });
    expect(watch.tracked?.settledUntil).toBe(T0 - 300);
  });

  it('keeps no changes that were not committed', async () => {
    commit = () => Promise.reject(new Error('fenced'));
    await expect(turn()).rejects.toThrow('fenced');
    expect(watch.tracked).toBeUndefined();
    commit = () => Promise.resolve();
    await turn();
    expect(published.map(({ sequence }) => sequence)).toEqual([1]);
  });

  it('reports a machine that is gone as removed, ends, and forgets its reasons after the tombstone', async () => {
    await turn();
    watch.markRemoved();
    commit = () => {
      expect(forgotten).toEqual([]);
      return Promise.resolve();
    };
    await turn();
    expect(kinds()).toEqual([changed, 'removed']);
    expect(watch.hasEnded).toBe(true);
    expect(forgotten).toEqual(['M-1']);
  });

  it('continues with a machine that is listed again in time', async () => {
    watch.markRemoved();
    watch.updateInfo({ ...MACHINE, displayName: 'Big mill' });
    await turn();
    expect(kinds()).toEqual([changed]);
    expect(watch.tracked?.displayName).toBe('Big mill');
  });

  it('reports nothing of a machine that is listed again before its departure is concluded', async () => {
    await turn();
    watch.markRemoved();
    const departure = await watch.poll();
    watch.updateInfo(MACHINE);
    await departure.conclude();
    expect(kinds()).toEqual([changed]);
    expect(watch.hasEnded).toBe(false);
  });

  it('continues with a machine that is listed again while its removal is being published', async () => {
    await turn();
    watch.markRemoved();
    commit = () => {
      watch.updateInfo(MACHINE);
      return Promise.resolve();
    };
    await turn();
    expect(watch.hasEnded).toBe(false);
    expect(forgotten).toEqual(['M-1']);
    await turn(operating(T0 + 60, 11));
    expect(kinds()).toEqual([changed, 'removed', restored]);
  });

  describe('whose turns are passed over while polls are paused', () => {
    const UNAVAILABLE = { kind: 'unauthorised', status: 403 } as const;

    /** A poll of another machine. */
    const anotherEnds = (failure: typeof UNAVAILABLE | null): void => {
      const call = health.admitPoll(false);
      if (call !== undefined) health.endPoll(call, failure);
    };

    const passOverFor = async (seconds: number): Promise<void> => {
      clock.advance(seconds);
      await watch.passOver();
    };

    beforeEach(async () => {
      await turn();
      anotherEnds(null);
    });

    it('is not lost while others are answered now and then, even if its own last answer is long ago', async () => {
      for (let minute = 0; minute < 30; minute += 1) {
        anotherEnds(UNAVAILABLE);
        if (minute % 4 === 0) anotherEnds(null);
        await passOverFor(60);
      }
      expect(kinds()).toEqual([changed]);
    });

    it('is lost if its own poll had failed', async () => {
      await turn({ status: 503 });
      for (let minute = 0; minute < 6; minute += 1) {
        anotherEnds(null);
        anotherEnds(UNAVAILABLE);
        await passOverFor(60);
      }
      expect(kinds()).toEqual([changed, 'unreachable']);
    });

    it('is lost once no machine has been answered for too long, whatever the wall clock says', async () => {
      anotherEnds(UNAVAILABLE);
      clock.shiftWallClock(3600);
      await passOverFor(60);
      expect(kinds()).toEqual([changed]);
      clock.shiftWallClock(-7200);
      await passOverFor(240);
      expect(kinds()).toEqual([changed]);
      await passOverFor(1);
      expect(kinds()).toEqual([changed, 'forbidden']);
    });
  });

  it('publishes nothing of a poll during which its partition is lost', async () => {
    const poll = turn();
    partition.abort();
    await expect(poll).rejects.toThrow();
    expect(watch.hasEnded).toBe(true);
    expect(published).toEqual([]);
  });
});
