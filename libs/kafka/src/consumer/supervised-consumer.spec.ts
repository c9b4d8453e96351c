import { jest } from '@jest/globals';
import { realEpochMs } from '#libs/clock';
import { RevocationBarrier, SessionLease } from './supervised-consumer.js';

describe('RevocationBarrier', () => {
  let deadlines: number[];
  let mayLastMs: number;
  let drain: () => void;
  let barrier: RevocationBarrier;

  beforeEach(() => {
    deadlines = [];
    mayLastMs = 7000;
    const begin = (deadlineMs: number): Promise<void> => {
      deadlines.push(deadlineMs);
      return new Promise((resolve) => {
        drain = resolve;
      });
    };
    barrier = new RevocationBarrier(begin, () => mayLastMs);
  });

  /** What kafkajs makes of the moment before joining: it tries again as long as the group is said to be rebalancing. */
  const refusal = (): unknown => {
    try {
      barrier.assertDrained();
      return undefined;
    } catch (error) {
      return error;
    }
  };

  it('is not wanted before there is a sign of a rebalance', () => {
    expect(barrier.isRaised).toBe(false);
    expect(deadlines).toEqual([]);
  });

  it('keeps the member from joining until nothing is under way, in the way kafkajs tries again after', async () => {
    expect(refusal()).toMatchObject({ type: 'REBALANCE_IN_PROGRESS' });
    expect(refusal()).toBeInstanceOf(Error);
    drain();
    await barrier.raiseBarrier().drained;
    expect(refusal()).toBeUndefined();
    expect(barrier.isRaised).toBe(true);
  });

  it('begins once, with the first sign of a rebalance, and with the deadline of that', async () => {
    mayLastMs = 500;
    const { drained: done } = barrier.raiseBarrier();
    mayLastMs = 7000;
    expect(barrier.isRaised).toBe(true);
    expect(refusal()).toBeDefined();
    expect(barrier.raiseBarrier().drained).toBe(done);
    expect(deadlines).toEqual([500]);
    drain();
    await done;
    expect(barrier.raiseBarrier().isDrained).toBe(true);
    expect(refusal()).toBeUndefined();
  });

  it('is over at some time from which on the member may join, and not before', async () => {
    const { drained: done } = barrier.raiseBarrier();
    expect(barrier.drainedEpochMs).toBe(Infinity);
    drain();
    await done;
    await Promise.resolve();
    expect(barrier.drainedEpochMs).toBeLessThanOrEqual(realEpochMs());
    barrier.lowerBarrier();
    expect(barrier.drainedEpochMs).toBe(Infinity);
  });

  it('is wanted anew for each rebalance', async () => {
    const first = barrier.raiseBarrier();
    drain();
    await first.drained;
    barrier.lowerBarrier();
    expect(barrier.isRaised).toBe(false);
    expect(refusal()).toBeDefined();
    expect(deadlines).toEqual([7000, 7000]);
    drain();
    await barrier.raiseBarrier().drained;
    expect(refusal()).toBeUndefined();
  });

  it('does not take the end of an earlier drain for that of a later one', async () => {
    const earlier = barrier.raiseBarrier();
    const endEarlier = drain;
    barrier.lowerBarrier();
    barrier.raiseBarrier();
    endEarlier();
    await earlier.drained;
    expect(refusal()).toBeDefined();
  });
});

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
