import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { type CallFailure } from '#libs/delivery';
import { FlowStatus } from './flow-status.js';

const timeOut: CallFailure = {
  machineId: 'M-1',
  busyMachines: 1,
  isShared: false,
  isProbe: false,
  cause: 'service',
  why: 'time-out',
  retryAfterMs: 0,
};
const noToken: CallFailure = { ...timeOut, cause: 'token-refused', why: '401' };
const forbidden: CallFailure = { ...timeOut, cause: 'forbidden', why: '403' };

describe('what FlowStatus knows of calls', () => {
  it('is when the latest that went well began, and who else was forbidden since when', () => {
    const status = new FlowStatus('work-orders');
    const [first, second] = [status.callStarts(), status.callStarts()];
    expect(status.latestAppliedMs).toBe(-Infinity);
    status.succeeded({ ...second, startedMs: 200 }, true, []);
    status.succeeded({ ...first, startedMs: 100 }, true, []);
    expect(status.latestAppliedMs).toBe(200);
    status.succeeded({ ...first, startedMs: 250 }, true, [{ machineId: 'M-7' }]);
    status.succeeded({ ...first, startedMs: 300 }, false, [{ machineId: 'M-7' }]);
    expect(status.latestAppliedMsOf('M-7')).toBe(250);
    expect(status.latestAppliedMsOf('M-8')).toBe(-Infinity);
    status.succeeded({ ...first, startedMs: 60_251 }, true, [{ machineId: 'M-8' }]);
    expect(status.latestAppliedMsOf('M-7')).toBe(250);
    status.succeeded({ ...first, startedMs: 120_252 }, true, []);
    expect(status.latestAppliedMsOf('M-7')).toBe(-Infinity);
    expect(status.latestAppliedMsOf('M-8')).toBe(60_251);

    const now = jest.spyOn(performance, 'now');
    const forbidden = (machineId: string, atMs: number): void => {
      now.mockReturnValue(atMs);
      status.forbidden(machineId);
    };
    expect(status.wasAnotherForbidden('M-1', 0)).toBe(false);
    forbidden('M-1', 300);
    expect(status.wasAnotherForbidden('M-1', 0)).toBe(false);
    expect(status.wasAnotherForbidden('M-2', 300)).toBe(true);
    forbidden('M-2', 400);
    forbidden('M-2', 500);
    now.mockRestore();
    expect(status.wasAnotherForbidden('M-1', 500)).toBe(true);
    expect(status.wasAnotherForbidden('M-2', 300)).toBe(true);
    expect(status.wasAnotherForbidden('M-2', 301)).toBe(false);
  });
});

describe('FlowStatus', () => {
  let nowMs: number;
  let status: FlowStatus;

  beforeEach(() => {
    Logger.overrideLogger(false);
    nowMs = 1000;
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    jest.spyOn(Math, 'random').mockReturnValue(0);
    status = new FlowStatus('work-orders');
  });

  afterEach(() => {
    jest.restoreAllMocks();
  });

  const goesWell = (): void => {
    nowMs += 1;
    status.succeeded(status.callStarts(), true, []);
    status.callEnded();
  };

  const failOften = (failure = timeOut): void => {
    for (let machine = 1; machine <= 5; machine += 1) {
      status.failed({ ...failure, machineId: `M-${machine}` });
    }
  };

  it('moves until several machines have met with nothing but failures', () => {
    expect(status).toMatchObject({ isPaused: false, pausedBecause: undefined });
    goesWell();
    status.failed(timeOut);
    expect(status).toMatchObject({ isPaused: false, pausedBecause: undefined });
    failOften();
    expect(status).toMatchObject({ isPaused: true, pausedBecause: 'time-out' });
  });

  it('stands still at once when the token is refused', () => {
    status.failed(noToken);
    expect(status.pausedBecause).toBe('401');
  });

  it('takes the failures of one machine for a standstill when nothing else has come for five seconds', () => {
    status.failed(timeOut);
    nowMs += 4999;
    status.failed(timeOut);
    expect(status.pausedBecause).toBeUndefined();
    nowMs += 1;
    status.failed(timeOut);
    expect(status.pausedBecause).toBe('time-out');
  });

  describe('when all that waits was asked to wait', () => {
    let isStuck: boolean;

    const passSeconds = (seconds: number): void => {
      for (let second = 0; second < seconds; second += 1) {
        nowMs += 1000;
        jest.advanceTimersByTime(1000);
      }
    };

    beforeEach(() => {
      jest.useFakeTimers({ doNotFake: ['performance'] });
      isStuck = true;
      status.reviewWhile(() => isStuck);
    });

    afterEach(() => {
      jest.useRealTimers();
    });

    const asked = { ...timeOut, why: 'HTTP 503', retryAfterMs: 3_600_000 };

    it.each([
      ['a call for several', [{ ...asked, isShared: true }]],
      ['calls for two', [asked, { ...asked, machineId: 'M-2' }]],
    ])('stands still after five seconds, though nothing fails any more: %s', (_, failures) => {
      for (const failure of failures) status.failed(failure);
      passSeconds(4);
      expect(status.pausedBecause).toBeUndefined();
      passSeconds(1);
      expect(status.pausedBecause).toBe('HTTP 503');
      goesWell();
      passSeconds(10);
      expect(status.pausedBecause).toBeUndefined();
    });

    it('does not stand still while another call is under way', () => {
      status.callStarts();
      for (const machineId of ['M-1', 'M-2']) status.failed({ ...asked, machineId });
      passSeconds(10);
      expect(status.pausedBecause).toBeUndefined();
      status.callEnded();
      passSeconds(1);
      expect(status.pausedBecause).toBe('HTTP 503');
    });

    it('does not stand still where nothing waits any more because it failed', () => {
      for (const machineId of ['M-1', 'M-2']) status.failed({ ...asked, machineId });
      isStuck = false;
      passSeconds(10);
      expect(status.pausedBecause).toBeUndefined();
    });

    it('does not stand still for one machine', () => {
      status.failed(asked);
      passSeconds(10);
      expect(status.pausedBecause).toBeUndefined();
    });
  });

  it('moves again once a call goes well', () => {
    status.failed(noToken);
    goesWell();
    expect(status.pausedBecause).toBeUndefined();
    status.failed(timeOut);
    expect(status.pausedBecause).toBeUndefined();
  });

  it('gives the latest reason', () => {
    failOften();
    status.failed(noToken);
    expect(status.pausedBecause).toBe('401');
  });

  it('admits no call while it is paused, but one at a time to see', () => {
    failOften();
    expect(status.admits()).toBe(false);
    expect(status.nextProbeMs).toBe(nowMs + 200);
    nowMs += 200;
    expect(status.admits()).toBe(true);
    status.callBegins();
    expect(status.admits()).toBe(false);
    expect(status.nextProbeMs).toBeUndefined();
    status.probeWasVoid();
    expect(status.admits()).toBe(true);
  });

  it('tells who wants to know that it moves again, and nobody that it still does', () => {
    let resumed = 0;
    status.whenResumed(() => {
      resumed += 1;
    });
    goesWell();
    expect(resumed).toBe(0);
    status.failed(noToken);
    goesWell();
    goesWell();
    expect(resumed).toBe(1);
  });

  it('numbers calls as they start, and knows the latest to have started of those that went well', () => {
    const [first, second, third] = [1, 2, 3].map(() => status.callStarts());
    expect(first).toEqual({ number: 1, latestApplied: 0, startedMs: nowMs });
    status.succeeded(second!, true, []);
    status.succeeded(first!, true, []);
    status.succeeded(third!, false, []);
    expect(status.latestBegun).toBe(3);
    expect(status.callStarts()).toMatchObject({ number: 4, latestApplied: 2 });
  });

  it('does not move again for what started before the failures and ends well only now', () => {
    const early = status.callStarts();
    nowMs += 1;
    failOften(forbidden);
    status.succeeded(early, true, []);
    expect(status.isPaused).toBe(true);
    goesWell();
    expect(status.isPaused).toBe(false);
  });

  describe('in the log', () => {
    let lines: unknown[];

    beforeEach(() => {
      lines = [];
      for (const level of ['warn', 'log'] as const) {
        jest.spyOn(Logger.prototype, level).mockImplementation((line: unknown) => {
          lines.push(line);
        });
      }
    });

    it('is paused once, and moves again once', () => {
      failOften();
      failOften();
      nowMs += 200;
      status.callBegins();
      status.failed(timeOut);
      for (let call = 0; call < 3; call += 1) goesWell();
      const flow = 'work-orders';
      expect(lines).toEqual([
        { msg: 'flow paused, probing', flow, why: 'time-out', cause: 'service', machineId: 'M-5' },
        { msg: 'flow moves again', flow },
      ]);
    });

    it('is paused anew when it is paused again', () => {
      for (let time = 0; time < 2; time += 1) {
        status.failed(noToken);
        goesWell();
      }
      expect(lines).toHaveLength(4);
    });

    it.each([timeOut, forbidden])(
      'is silent about one machine that is answered $why while others get through',
      (failure) => {
        for (let retry = 0; retry < 10; retry += 1) {
          status.failed(failure);
          nowMs += 4000;
          goesWell();
          nowMs += 4000;
        }
        expect(lines).toEqual([]);
      },
    );
  });
});
