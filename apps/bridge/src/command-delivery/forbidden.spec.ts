import { Logger } from '@nestjs/common';
import { type Verdict } from '#libs/delivery';
import { FlowStatus } from './flow-status.js';
import { Forbidden } from './forbidden.js';

const forbidden: Verdict = { kind: 'try-again', waitMs: 0, why: '403', cause: 'forbidden' };
const away: Verdict = { kind: 'try-again', waitMs: 0, why: '503', cause: 'service' };

describe('a machine that is answered 403', () => {
  let status: FlowStatus;
  let command: Forbidden;

  beforeEach(() => {
    Logger.overrideLogger(false);
    status = new FlowStatus('work-orders');
    command = new Forbidden();
  });

  const otherGetsThrough = (): void => {
    status.note({ kind: 'applied' });
  };

  it('is at fault when others get through while it is refused again and again', () => {
    for (let time = 1; time < 3; time += 1) {
      expect(command.review(forbidden, status)).toBe(forbidden);
      otherGetsThrough();
    }
    expect(command.review(forbidden, status)).toMatchObject({ kind: 'rejected', status: 403 });
  });

  it('is not at fault while nobody gets through: the token is', () => {
    for (let time = 0; time < 10; time += 1) {
      expect(command.review(forbidden, status)).toBe(forbidden);
    }
  });

  it('is not at fault for what others got through before the token lost its rights', () => {
    expect(command.review(forbidden, status)).toBe(forbidden);
    otherGetsThrough();
    for (let time = 0; time < 10; time += 1) {
      expect(command.review(forbidden, status)).toBe(forbidden);
    }
  });

  it('starts over when the service answers otherwise in between', () => {
    for (const verdict of [forbidden, forbidden, away, forbidden, forbidden]) {
      otherGetsThrough();
      expect(command.review(verdict, status)).toBe(verdict);
    }
  });
});
