import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { type Verdict } from '#libs/delivery';
import { FlowStatus } from './flow-status.js';

const failure: Verdict = { kind: 'try-again', waitMs: 0, why: 'time-out', cause: 'service' };
const noToken: Verdict = { kind: 'try-again', waitMs: 0, why: '401', cause: 'token-refused' };
const refusal: Verdict = { kind: 'rejected', status: 422, detail: 'no such reason' };

describe('FlowStatus', () => {
  let nowMs: number;
  let status: FlowStatus;

  beforeEach(() => {
    Logger.overrideLogger(false);
    nowMs = 1000;
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    status = new FlowStatus('work-orders');
  });

  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('moves until it meets a failure', () => {
    expect(status.pausedBecause).toBeUndefined();
    status.note({ kind: 'applied' });
    expect(status.pausedBecause).toBeUndefined();
  });

  it('stands still at once when the token is refused', () => {
    status.note(noToken);
    expect(status.pausedBecause).toBe('401');
  });

  it('takes failures for a standstill when nothing else has come for five seconds', () => {
    status.note(failure);
    nowMs += 4999;
    status.note(failure);
    expect(status.pausedBecause).toBeUndefined();
    nowMs += 1;
    expect(status.pausedBecause).toBe('time-out');
  });

  it.each([{ kind: 'applied' } as const, refusal])(
    'moves again once a call is $kind',
    (verdict) => {
      status.note(noToken);
      status.note(verdict);
      expect(status.pausedBecause).toBeUndefined();
      status.note(failure);
      expect(status.pausedBecause).toBeUndefined();
    },
  );

  it('gives the latest reason', () => {
    status.note(failure);
    status.note(noToken);
    expect(status.pausedBecause).toBe('401');
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

    it('stands still once, and moves again once', () => {
      status.note(failure);
      nowMs += 5000;
      for (const verdict of [failure, failure, refusal, refusal]) status.note(verdict);
      expect(lines).toEqual([
        { msg: 'flow stands still', flow: 'work-orders', why: 'time-out' },
        { msg: 'flow moves again', flow: 'work-orders' },
      ]);
    });

    it('stands still as soon as the token is refused a second time', () => {
      for (const verdict of [noToken, noToken]) status.note(verdict);
      expect(lines).toEqual([{ msg: 'flow stands still', flow: 'work-orders', why: '401' }]);
    });

    it.each([failure, noToken])(
      'is silent about one machine that is answered $why while others get through',
      (verdict) => {
        for (let retry = 0; retry < 10; retry += 1) {
          status.note(verdict);
          nowMs += 4000;
          status.note({ kind: 'applied' });
          nowMs += 4000;
        }
        expect(lines).toEqual([]);
      },
    );
  });
});
