import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { type Verdict } from '#libs/delivery';
import { FlowStatus } from './flow-status.js';

const failure: Verdict = { kind: 'try-again', waitMs: 0, why: 'time-out', pausesFlow: false };
const noToken: Verdict = { kind: 'try-again', waitMs: 0, why: '401', pausesFlow: true };
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

  it('logs the turns alone: failures begin, the flow goes on', () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
    const log = jest.spyOn(Logger.prototype, 'log').mockReturnValue(undefined);
    for (const verdict of [failure, failure, refusal, refusal]) status.note(verdict);
    expect(warn.mock.calls).toHaveLength(1);
    expect(log.mock.calls).toHaveLength(1);
  });
});
