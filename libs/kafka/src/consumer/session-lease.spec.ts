import { jest } from '@jest/globals';
import { SessionLease } from './session-lease.js';

describe('SessionLease', () => {
  let monotonicMs: number;
  let wallMs: number;
  let lease: SessionLease;

  beforeEach(() => {
    monotonicMs = 5000;
    wallMs = 1_763_680_000_000;
    jest.spyOn(performance, 'now').mockImplementation(() => monotonicMs);
    jest.spyOn(Date, 'now').mockImplementation(() => wallMs);
    lease = new SessionLease();
  });

  afterEach(() => {
    jest.restoreAllMocks();
  });

  const pass = (ms: number): void => {
    monotonicMs += ms;
    wallMs += ms;
  };

  it('is infinitely old before anything has been confirmed', () => {
    expect(lease.ageMs).toBe(Infinity);
  });

  it('counts from when the question was sent, not from when its answer was read', () => {
    const sentAtMs = wallMs;
    pass(20_000);
    lease.renew(sentAtMs);
    expect(lease.ageMs).toBe(20_000);
    pass(500);
    expect(lease.ageMs).toBe(20_500);
  });

  it('grows while the machine is suspended, when only the wall clock goes on', () => {
    lease.renew();
    wallMs += 60_000;
    expect(lease.ageMs).toBe(60_000);
  });

  it('grows though the wall clock is set back', () => {
    lease.renew();
    pass(3000);
    wallMs -= 60_000;
    expect(lease.ageMs).toBe(3000);
  });
});
